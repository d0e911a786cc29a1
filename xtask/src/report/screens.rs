//! Pictures of the page by Debian's chromium without a display: wide and narrow, light and dark, and printed. Also whether
//! the page's script ran, which shows that its hash in the policy is right.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// A browser.
pub(super) struct Browser {
    program: PathBuf,
}

/// Name, width, height and dark or not.
const PICTURES: [(&str, u32, u32, bool); 4] = [
    ("wide-light", 1280, 2200, false),
    ("wide-dark", 1280, 2200, true),
    ("phone-light", 390, 2200, false),
    ("phone-dark", 390, 2200, true),
];

impl Browser {
    /// The installed one.
    pub(super) fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let mut places =
            std::env::split_paths(&path).flat_map(|place| names.map(|name| place.join(name)));
        places.find(|candidate| candidate.is_file()).map(|program| Self { program })
    }

    /// Takes every picture of the page in a directory.
    pub(super) fn pictures(&self, directory: &Path) -> anyhow::Result<()> {
        let page = format!("file://{}", directory.join("report.html").display());
        for (name, width, height, dark) in PICTURES {
            let picture = directory.join(format!("{name}.png"));
            self.run(&[
                format!("--window-size={width},{height}"),
                format!("--screenshot={}", picture.display()),
                format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }),
                page.clone(),
            ])?;
            ensure!(picture.is_file(), "chromium left no {}", picture.display());
        }
        let print = directory.join("print.pdf");
        self.run(&[
            format!("--print-to-pdf={}", print.display()),
            "--no-pdf-header-footer".to_owned(),
            page.clone(),
        ])?;
        let document = self.run(&["--dump-dom".to_owned(), page])?;
        let toggle = document.split("id=\"theme\"").nth(1).and_then(|rest| rest.split('>').next());
        let toggle = toggle.context("the page has no theme button")?;
        ensure!(!toggle.contains("hidden"), "the page's script did not run");
        Ok(())
    }

    fn run(&self, arguments: &[String]) -> anyhow::Result<String> {
        let output = Command::new(&self.program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args([
                "--disable-background-networking",
                "--no-first-run",
                "--virtual-time-budget=2000",
            ])
            .args(arguments)
            .output()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        ensure!(
            output.status.success(),
            "chromium: {}",
            String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
