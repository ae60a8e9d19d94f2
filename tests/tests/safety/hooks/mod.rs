//! Commands of the user's in a tree: which run, where, how often, and what comes of their failing.

mod cleanup;
mod configuration;
mod setup;

use crate::scene::Scene;

/// A scene whose source names these hooks, in a file that is committed and trusted.
fn trusted(setup: &str, cleanup: &str) -> Scene {
    let scene = named(setup, cleanup);
    scene.fwt().run(scene.root(), ["trust"]).success();
    scene
}

/// The same, not trusted.
fn named(setup: &str, cleanup: &str) -> Scene {
    let scene = Scene::anywhere();
    let line = |name, command: &str| {
        if command.is_empty() { String::new() } else { format!("{name} = '''{command}'''\n") }
    };
    let text = format!("[hooks]\n{}{}", line("setup", setup), line("cleanup", cleanup));
    scene.source.write("fwt.toml", text);
    scene.source.commit("hooks");
    scene.source.settle();
    scene
}
