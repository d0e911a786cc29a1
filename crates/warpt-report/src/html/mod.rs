//! The page: one HTML file that needs nothing else. No address is named in it, a content security policy forbids every
//! request, and the only script is the one whose hash the policy holds. It works without that script too: then
//! there is no filter and the theme follows the system.
//!
//! What always holds: every text from a record goes through [`markup::escape`]; a section without content is not there;
//! hundreds of benchmarks are folded rows, a few hundred bytes each until opened.

mod benchmarks;
mod comparison;
mod distribution;
mod history;
mod machine;
mod markup;
mod monitor;
mod plot;
mod roofline;
mod summary;

use crate::number::bytes;
use crate::report::Report;

use markup::{escape, policy_hash, section};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page.
pub(crate) fn page(report: &Report) -> String {
    let sections: Vec<(&str, &str, String)> = [
        ("summary", "Summary", summary::render(report)),
        ("comparison", "Comparison", comparison::render(report)),
        ("benchmarks", "Benchmarks", benchmarks::render(report)),
        ("history", "History", history::render(&report.history)),
        ("roofline", "Roofline", roofline::render(report)),
        ("monitor", "Monitor", monitor::render(report)),
        ("differences", "Environment differences", machine::differences(report)),
        ("machine", "Machine", machine::render(report)),
    ]
    .into_iter()
    .filter(|(_, _, body)| !body.is_empty())
    .collect();
    let links: String = sections
        .iter()
        .map(|(anchor, title, _)| format!("<a href=\"#{anchor}\">{title}</a>"))
        .collect();
    let body: String =
        sections.iter().map(|(anchor, title, body)| section(anchor, title, body)).collect();
    let created = report
        .created
        .map_or_else(String::new, |time| format!(" Made {}.", time.strftime("%Y-%m-%d %H:%M UTC")));
    let size = bytes((STYLE.len() + SCRIPT.len() + body.len() + links.len() + 2048) as u64);
    let title = escape(&report.title);
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
         Values are medians; ± is the 95% interval of the median within its run.</footer>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        style = policy_hash(STYLE),
        script = policy_hash(SCRIPT),
    )
}
