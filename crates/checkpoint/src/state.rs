//! What a path is at one moment, as far as it can be brought back.

use fs_sys::{Kind, Mode, Time};

use crate::codec::{put, take};
use crate::manifest::{Known, Print};
use crate::store::ContentId;

/// What a path is at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// A file, a directory or a link. Anything special stands for what was there and not kept.
    pub kind: Kind,
    /// Permission bits, setuid and the like included.
    pub mode: Mode,
    /// When its bytes last changed; of files only.
    pub mtime: Time,
    /// Bytes.
    pub size: u64,
    /// Its bytes, or a link's target; `None` of a directory, and where it is not known.
    pub content: Option<ContentId>,
}

impl State {
    /// What is known of a path, without what says nothing about it: a link has no mode of its own.
    pub(crate) fn of(known: &Known) -> Self {
        let Print { mode, mtime, size, kind, .. } = known.print;
        let (mode, mtime) = match kind {
            Kind::Symlink => (Mode(0o777), Print::LEFT_OUT.mtime),
            Kind::File | Kind::Directory | Kind::Special => (mode, mtime),
        };
        Self { kind, mode, mtime, size, content: known.content }
    }

    /// Whether there are bytes of it that nobody kept.
    pub fn is_unknown(&self) -> bool {
        self.kind != Kind::Directory && self.content.is_none()
    }

    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        let kind = match self.kind {
            Kind::File => 0,
            Kind::Directory => 1,
            Kind::Symlink => 2,
            Kind::Special => 3,
        };
        put(bytes, kind | u64::from(self.content.is_some()) << 2);
        put(bytes, self.mode.0.into());
        put_time(bytes, self.mtime);
        put(bytes, self.size);
        if let Some(content) = self.content {
            bytes.extend_from_slice(&content.0);
        }
    }

    pub(crate) fn decode(rest: &mut &[u8]) -> Option<Self> {
        let flags = take(rest)?;
        let kinds = [Kind::File, Kind::Directory, Kind::Symlink, Kind::Special];
        let kind = *kinds.get(usize::try_from(flags & 3).ok()?)?;
        let mode = Mode(u32::try_from(take(rest)?).ok()?);
        let mtime = take_time(rest)?;
        let size = take(rest)?;
        let content = if flags & 4 == 0 {
            None
        } else {
            let (id, after) = rest.split_first_chunk::<32>()?;
            *rest = after;
            Some(ContentId(*id))
        };
        Some(Self { kind, mode, mtime, size, content })
    }
}

pub(crate) fn put_time(bytes: &mut Vec<u8>, time: Time) {
    put(bytes, time.seconds.cast_unsigned());
    put(bytes, time.nanos.into());
}

pub(crate) fn take_time(rest: &mut &[u8]) -> Option<Time> {
    let seconds = take(rest)?.cast_signed();
    Some(Time { seconds, nanos: u32::try_from(take(rest)?).ok()? })
}
