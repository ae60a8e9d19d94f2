//! One command from its arguments to its exit code.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;
use fast_worktree::api::{Api as _, ApiError, Code, ListRequest, Request, Response};
use fast_worktree::{Environment, Service, Settings};

use crate::answer::{self, Wanted};
use crate::arguments::{Arguments, Command, Global, ListArguments};
use crate::directory::Directory;
use crate::environment::Variables;
use crate::interrupt::{self, Signal, Watch};
use crate::logging::{self, Log};
use crate::printer::{self, Format, Printer, Talk};
use crate::progress::{self, Bar};
use crate::terminal::{self, Stream};
use crate::{checkpoint_request, clock, exit, home, schema, translate};

/// Runs it.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    let session = Session::start(arguments.global);
    let directory = &session.directory;
    match arguments.command {
        Command::Create(create) => {
            let request = translate::create(create, directory).map(Request::CreateWorktree);
            session.answer(session.ask(request), Wanted::Path)
        }
        Command::Acquire(acquire) => {
            let request = translate::acquire(acquire, directory).map(Request::AcquireWorktree);
            session.answer(session.ask(request), Wanted::Path)
        }
        Command::Touch(touch) => {
            let request = translate::touch(touch, directory).map(Request::TouchWorktree);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::Release(release) => {
            let request = translate::release(release, directory).map(Request::ReleaseWorktree);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::List(list) => session.answer(session.list(&list), Wanted::Fields),
        Command::Show(show) => {
            let request = translate::show(show, directory).map(Request::ShowWorktree);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::Rm(remove) => {
            let request = translate::remove(remove, directory).map(Request::RemoveWorktree);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::Doctor(doctor) => {
            let request = translate::doctor(&doctor, directory).map(Request::Doctor);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::Attach(attach) => {
            let request = translate::attach(attach, directory).map(Request::Attach);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::Seal(seal) => {
            let request = translate::seal(seal, directory).map(Request::Seal);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::Du => {
            let request = translate::disk_usage(directory).map(Request::DiskUsage);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::Trust(trust) => {
            let request = translate::trust(&trust, directory).map(Request::Trust);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::Checkpoint(command) => {
            let request = checkpoint_request::request(command, directory);
            session.answer(session.ask(request), Wanted::Fields)
        }
        Command::Schema => {
            let text = format!("{:#}\n", schema::document());
            printer::finish(printer::data(text.as_bytes()), ExitCode::from(exit::DONE), None)
        }
        Command::Completions { shell } => session.completions(shell),
    }
}

/// What all commands work with.
#[derive(Debug)]
struct Session {
    variables: Variables,
    directory: Directory,
    printer: Printer,
    log: Log,
}

/// Why a request was not answered, and the signal that came meanwhile.
#[derive(Debug)]
struct Failure {
    error: ApiError,
    signal: Option<Signal>,
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self { error, signal: None }
    }
}

impl Session {
    fn start(global: Global) -> Self {
        let variables = Variables::load();
        let printer = Printer {
            format: if global.json { Format::Json } else { Format::Text },
            talk: if global.quiet > 0 { Talk::Quiet } else { Talk::Normal },
            colours: Stream::Err.colours(&variables),
        };
        let log = logging::start(global.verbose, &variables);
        if let Log::BadFilter(why) = &log {
            printer.note(&format!("FWT_LOG is not a filter, nothing is logged: {why}"));
        }
        Self { directory: Directory::load(global.directory), variables, printer, log }
    }

    /// The worktrees of the repository here. Outside of any, all of them are meant, unless a
    /// directory was named.
    fn list(&self, arguments: &ListArguments) -> Result<Response, Failure> {
        let request = translate::list(arguments, &self.directory).map(Request::ListWorktrees);
        match self.ask(request) {
            Err(Failure { error, .. })
                if error.code == Code::NotARepository && !self.directory.is_chosen() =>
            {
                self.printer.note("not in a repository: these are the worktrees of all");
                self.ask(Ok(Request::ListWorktrees(ListRequest { source: None })))
            }
            answer => answer,
        }
    }

    fn ask(&self, request: Result<Request, ApiError>) -> Result<Response, Failure> {
        let request = request?;
        let service = Service::new(Settings {
            home: home::resolve(&self.variables, || self.directory.current())?,
            environment: Environment::new(self.variables.all()),
            config: home::config_file(&self.variables),
            hear: match self.printer.talk {
                Talk::Normal => printer::pass_on,
                Talk::Quiet => |_| {},
            },
            clock: clock::now,
            since_boot: clock::since_boot,
        });
        let watch = self.watch(&request, &service);
        let bar = self.bar(&request, &service);
        #[cfg(feature = "faults")]
        let armed = crate::faults::arm_from(&self.variables)?;
        let answer = service.call(request);
        #[cfg(feature = "faults")]
        armed.report();
        drop(bar);
        let signal = watch.and_then(Watch::end);
        answer.map_err(|error| Failure { error: interrupt::attribute(error, signal), signal })
    }

    /// Only what changes something has something to clean up; the rest may end at once.
    fn watch(&self, request: &Request, service: &Service) -> Option<Watch> {
        match request {
            Request::CreateWorktree(_)
            | Request::AcquireWorktree(_)
            | Request::RemoveWorktree(_)
            | Request::Seal(_)
            | Request::Doctor(_) => {}
            Request::ListWorktrees(_)
            | Request::TouchWorktree(_)
            | Request::ReleaseWorktree(_)
            | Request::ShowWorktree(_)
            | Request::Attach(_)
            | Request::DiskUsage(_)
            | Request::Trust(_)
            // A checkpoint that is cut short counts for nothing, and leaves nothing to clean up.
            | Request::BeginCheckpoint(_)
            | Request::RecordWrites(_)
            | Request::EndCheckpoint(_)
            | Request::ListCheckpoints(_)
            | Request::ShowCheckpoint(_)
            | Request::DiffCheckpoints(_)
            | Request::CollectCheckpoints(_) => {
                return None;
            }
        }
        match interrupt::watch(service.cancel()) {
            Ok(watch) => Some(watch),
            Err(error) => {
                self.printer.note(&format!("signals will not be cleaned up after: {error}"));
                None
            }
        }
    }

    /// A log and a bar would write over each other.
    fn bar(&self, request: &Request, service: &Service) -> Option<Bar> {
        let is_long = matches!(
            request,
            Request::CreateWorktree(_) | Request::AcquireWorktree(_) | Request::Seal(_)
        );
        let is_wanted = self.printer.talk == Talk::Normal && self.log != Log::On;
        let is_seen = || terminal::moves_cursor(&self.variables) && Stream::Err.is_terminal();
        (is_long && is_wanted && is_seen()).then(|| progress::show(service.progress()))
    }

    fn answer(&self, answer: Result<Response, Failure>, wanted: Wanted) -> ExitCode {
        match answer {
            Ok(response) => {
                let printed = answer::print(&response, wanted, self.printer, &self.variables);
                let undelivered = answer::undelivered(&response);
                printer::finish(printed, exit::code_of(&response), undelivered)
            }
            Err(Failure { error, signal }) => {
                let code = exit::code_for(&error, signal);
                printer::finish(self.printer.error(&error), code, None)
            }
        }
    }

    fn completions(&self, shell: Shell) -> ExitCode {
        if self.printer.format == Format::Json {
            let error = ApiError::new(Code::BadRequest, "completions are a script, never JSON");
            return self.answer(Err(error.into()), Wanted::Fields);
        }
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Arguments::command(), "fwt", &mut script);
        printer::finish(printer::data(&script), ExitCode::from(exit::DONE), None)
    }
}
