//! Loop devices and the image files behind them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::require_output;
use crate::machine::find_program;

/// A loop device in use.
#[derive(Debug, PartialEq, Eq)]
struct LoopDevice {
    device: PathBuf,
    image: PathBuf,
}

/// Detaches every loop device whose image is the path or below it, also one that was deleted.
pub(crate) fn detach_below(path: &Path) -> anyhow::Result<()> {
    for device in load_below(path)? {
        require_output(Command::new("losetup").arg("--detach").arg(device))?;
    }
    Ok(())
}

/// The loop devices whose image is the path or below it.
pub(crate) fn load_below(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if find_program("losetup").is_none() {
        return Ok(Vec::new());
    }
    let list = ["--list", "--raw", "--noheadings", "--output", "NAME,BACK-FILE"];
    let output = require_output(Command::new("losetup").args(list))?;
    let devices = parse_list(&String::from_utf8_lossy(&output));
    Ok(devices
        .into_iter()
        .filter(|device| device.image.starts_with(path))
        .map(|device| device.device)
        .collect())
}

/// A line is the device, a space, and the image's path; the kernel adds ` (deleted)` to the path
/// of a file that is gone, and losetup writes odd characters as `\x` and two digits.
fn parse_list(text: &str) -> Vec<LoopDevice> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(device, image)| {
            let image = image.replace("\\x20", " ");
            let image = image.strip_suffix(" (deleted)").unwrap_or(&image);
            LoopDevice { device: device.into(), image: image.into() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{LoopDevice, parse_list};

    #[test]
    fn a_deleted_image_keeps_its_name() {
        let list = "/dev/loop0 /t/images/xfs.img\n/dev/loop1 /t/a\\x20b.img\\x20(deleted)\n";
        let expected = [("/dev/loop0", "/t/images/xfs.img"), ("/dev/loop1", "/t/a b.img")]
            .map(|(device, image)| LoopDevice { device: device.into(), image: image.into() });
        assert_eq!(parse_list(list), expected);
    }
}
