//! `cargo xtask layers`: which crate may import which.

mod rules;

use std::collections::BTreeSet;

use anyhow::bail;
use cargo_metadata::DependencyKind;

use self::rules::{RULES, Rule};
use crate::talk::say;
use crate::workspace::Workspace;

/// Checks the workspace's manifests against the rules.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let graph = read_graph(workspace);
    let violations = find_violations(&graph, RULES);
    for violation in &violations {
        say(violation);
    }
    if !violations.is_empty() {
        bail!("imports that break the layers: {}", violations.len());
    }
    Ok(())
}

/// The workspace's packages, and which imports which.
#[derive(Debug)]
struct Graph {
    packages: Vec<String>,
    imports: Vec<Import>,
}

#[derive(Debug)]
struct Import {
    from: String,
    to: String,
    purpose: Purpose,
}

/// What an import is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Part of what is built.
    Product,
    /// For the package's own tests.
    Tests,
}

fn read_graph(workspace: &Workspace) -> Graph {
    let packages =
        workspace.packages().iter().map(|package| package.name.to_string()).collect::<Vec<_>>();
    let imports = workspace
        .packages()
        .iter()
        .flat_map(|package| {
            package.dependencies.iter().map(move |dependency| (package, dependency))
        })
        // A package of the registry may have the name of one of ours.
        .filter(|(_, dependency)| dependency.path.is_some() && packages.contains(&dependency.name))
        .map(|(package, dependency)| Import {
            from: package.name.to_string(),
            to: dependency.name.clone(),
            purpose: if dependency.kind == DependencyKind::Development {
                Purpose::Tests
            } else {
                Purpose::Product
            },
        })
        .collect();
    Graph { packages, imports }
}

fn find_violations(graph: &Graph, rules: &[Rule]) -> Vec<String> {
    let unknown = graph
        .packages
        .iter()
        .filter(|name| rules.iter().all(|rule| rule.package != name.as_str()))
        .map(|name| format!("{name}: no rule says what it may import"));
    let forbidden = graph.imports.iter().filter_map(|import| explain_if_forbidden(import, rules));
    unknown.chain(forbidden).collect()
}

fn explain_if_forbidden(Import { from, to, purpose }: &Import, rules: &[Rule]) -> Option<String> {
    match purpose {
        Purpose::Product => {
            let rule = rules.iter().find(|rule| rule.package == from)?;
            let is_permitted = rule.may_import.contains(&to.as_str());
            (!is_permitted).then(|| format!("{from}: may not import {to}"))
        }
        // A test may look sideways and down, as at a real backend, but a library whose tests need
        // what is built on it cannot be understood alone.
        Purpose::Tests => reachable(to, rules)
            .contains(from.as_str())
            .then(|| format!("{from}: its tests may not import {to}, which is above it")),
    }
}

/// Everything that a package may import, at any distance.
fn reachable<'rules>(package: &'rules str, rules: &'rules [Rule]) -> BTreeSet<&'rules str> {
    let mut found = BTreeSet::new();
    let mut pending = vec![package];
    while let Some(name) = pending.pop() {
        let next =
            rules.iter().filter(|rule| rule.package == name).flat_map(|rule| rule.may_import);
        pending.extend(next.copied().filter(|name| found.insert(*name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Graph, Import, Purpose, RULES, find_violations};

    fn check(from: &str, to: &str, purpose: Purpose, expected: &[&str]) {
        let import = Import { from: from.to_owned(), to: to.to_owned(), purpose };
        let graph = Graph { packages: vec![from.to_owned(), to.to_owned()], imports: vec![import] };
        assert_eq!(find_violations(&graph, RULES), expected);
    }

    #[test]
    fn a_line_of_the_picture_is_permitted() {
        check("fwt", "fast-worktree", Purpose::Product, &[]);
        check("backend", "copy-engine", Purpose::Product, &[]);
        check("checkpoint", "git-cli", Purpose::Product, &[]);
    }

    #[test]
    fn an_import_sideways_is_forbidden() {
        let expected = ["checkpoint: may not import backend"];
        check("checkpoint", "backend", Purpose::Product, &expected);
    }

    #[test]
    fn an_import_past_a_layer_is_forbidden() {
        check("fwt", "backend", Purpose::Product, &["fwt: may not import backend"]);
        check("backend", "walk", Purpose::Product, &["backend: may not import walk"]);
    }

    #[test]
    fn tests_look_sideways_and_down_but_not_up() {
        check("backend", "git-cli", Purpose::Tests, &[]);
        check("fwt", "walk", Purpose::Tests, &[]);
        let expected = ["fs-sys: its tests may not import backend, which is above it"];
        check("fs-sys", "backend", Purpose::Tests, &expected);
    }

    #[test]
    fn nothing_imports_the_tests() {
        check("fwt", "fwt-tests", Purpose::Product, &["fwt: may not import fwt-tests"]);
        let expected = ["fwt: its tests may not import fwt-tests, which is above it"];
        check("fwt", "fwt-tests", Purpose::Tests, &expected);
    }

    #[test]
    fn a_package_without_a_rule_is_a_violation() {
        let graph = Graph { packages: vec!["stray".to_owned()], imports: Vec::new() };
        assert_eq!(find_violations(&graph, RULES), ["stray: no rule says what it may import"]);
    }
}
