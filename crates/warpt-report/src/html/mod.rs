//! Pages: one HTML file each that needs nothing else. No address is named in one, a content security policy forbids every
//! request, and the only script is the one whose hash the policy holds. It works without that script too: then
//! there is no filter and the theme follows the system. [`document`] makes a page of sections, written with [`markup`],
//! [`plot`] and [`curves`]; that of a report is the format `html`.
//!
//! What always holds: every text from a record goes through [`markup::escape`]; a section without content is not there;
//! hundreds of benchmarks are folded rows, a few hundred bytes each until opened.

mod benchmarks;
mod comparison;
pub mod curves;
mod distribution;
mod history;
pub mod machine;
pub mod markup;
mod monitor;
pub mod plot;
mod roofline;
mod summary;

use jiff::Timestamp;

use crate::number::bytes;
use crate::report::Report;

use markup::{escape, policy_hash};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// One part of a page.
#[derive(Debug, Clone)]
pub struct Section {
    /// What links name it by: a word of this program.
    pub anchor: &'static str,
    /// Its heading: words of this program.
    pub title: &'static str,
    /// Markup; a section without any is left out.
    pub body: String,
}

impl Section {
    /// A section with this markup.
    pub fn new(anchor: &'static str, title: &'static str, body: String) -> Self {
        Self { anchor, title, body }
    }
}

/// The page of a report.
pub(crate) fn page(report: &Report) -> String {
    let sections = [
        Section::new("summary", "Summary", summary::render(report)),
        Section::new("comparison", "Comparison", comparison::render(report)),
        Section::new("benchmarks", "Benchmarks", benchmarks::render(report)),
        Section::new("history", "History", history::render(&report.history)),
        Section::new("roofline", "Roofline", roofline::render(report)),
        Section::new("monitor", "Monitor", monitor::render(report)),
        Section::new("differences", "Environment differences", machine::differences(report)),
        Section::new("machine", "Machine", machine::render(report)),
    ];
    let note = "Values are medians; ± is the 95% interval of the median within its run.";
    document(&report.title, &sections, report.created, note)
}

/// A whole page: `title` is text, `note` a sentence of this program at its end. Without the time it was made, equal input gives
/// equal pages.
pub fn document(
    title: &str,
    sections: &[Section],
    created: Option<Timestamp>,
    note: &str,
) -> String {
    let shown = || sections.iter().filter(|section| !section.body.is_empty());
    let links: String = shown()
        .map(|Section { anchor, title, .. }| format!("<a href=\"#{anchor}\">{title}</a>"))
        .collect();
    let body: String = shown()
        .map(|Section { anchor, title, body }| markup::section(anchor, title, body))
        .collect();
    let created = created
        .map_or_else(String::new, |time| format!(" Made {}.", time.strftime("%Y-%m-%d %H:%M UTC")));
    let size = bytes((STYLE.len() + SCRIPT.len() + body.len() + links.len() + 2048) as u64);
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {style}; \
         script-src {script}; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1><button id=\"theme\" type=\"button\" hidden>Light / dark</button>\
         <nav>{links}</nav></header>\n\
         <main>\n{body}</main>\n\
         <footer>One file of about {size}, complete in itself: it loads nothing and sends nothing.{created} \
         {note}</footer>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        style = policy_hash(STYLE),
        script = policy_hash(SCRIPT),
    )
}
