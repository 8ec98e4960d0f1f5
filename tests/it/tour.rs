//! The README's quick start does what it says.

use std::process::Command;

#[test]
fn the_tour_prints_what_the_readme_shows() {
    let root = env!("CARGO_MANIFEST_DIR");
    let output = Command::new("bash")
        .arg(format!("{root}/docs/tour.sh"))
        .env("UPSTREAMD", env!("CARGO_BIN_EXE_upstreamd"))
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    let readme = std::fs::read_to_string(format!("{root}/README.md")).unwrap();
    let shown = readme
        .split("```console\n")
        .find_map(|block| {
            block.split("```").next().filter(|block| block.contains("upstreamd once"))
        })
        .unwrap();
    // The README leaves lines out; those it shows are printed, in its order.
    let mut lines = printed.lines();
    for line in shown.lines() {
        assert!(lines.any(|printed| printed == line), "not printed: {line}\n{printed}");
    }
}
