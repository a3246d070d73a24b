//! A headless Chromium that opens reports and other pages: what it requests, what goes wrong in it, what is on the page, and what it saves.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use headless_chrome::browser::tab::point::Point;
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Network, Page as PageDomain, Runtime};
use headless_chrome::types::PrintToPdfOptions;
use headless_chrome::{Browser, LaunchOptions, Tab};
use serde::de::DeserializeOwned;

use crate::support::need::{Chromium, need};

/// A page in a separate browser, which is closed when this is dropped.
pub struct Page {
    tab: Arc<Tab>,
    requests: Arc<Mutex<Vec<String>>>,
    problems: Arc<Mutex<Vec<String>>>,
    _browser: Browser,
    _profile: tempfile::TempDir,
}

impl Page {
    /// Opens an address in a window of that size. `None` without a browser.
    pub fn open(url: &str, size: (u32, u32)) -> Option<Page> {
        let path = need(Chromium)?;
        let profile = tempfile::tempdir().unwrap();
        let options = LaunchOptions {
            path: Some(path),
            // root has no sandbox, and the pages are our own
            sandbox: false,
            window_size: Some(size),
            user_data_dir: Some(profile.path().to_owned()),
            idle_browser_timeout: Duration::from_secs(120),
            args: vec![
                "--disable-quic".as_ref(),
                "--disable-component-update".as_ref(),
                // pages can name hosts of the web
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1".as_ref(),
                "--hide-scrollbars".as_ref(),
            ],
            ..LaunchOptions::default()
        };
        let browser = Browser::new(options).expect("Chromium does not start");
        let tab = browser.new_tab().unwrap();
        tab.set_default_timeout(Duration::from_secs(60));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let problems = Arc::new(Mutex::new(Vec::new()));
        let (asked, wrong) = (requests.clone(), problems.clone());
        tab.add_event_listener(Arc::new(move |event: &Event| match event {
            Event::NetworkRequestWillBeSent(event) => {
                asked.lock().unwrap().push(event.params.request.url.clone());
            }
            Event::RuntimeExceptionThrown(event) => {
                let details = &event.params.exception_details;
                wrong
                    .lock()
                    .unwrap()
                    .push(format!("exception: {details:?}"));
            }
            Event::LogEntryAdded(event) => {
                let entry = &event.params.entry;
                wrong
                    .lock()
                    .unwrap()
                    .push(format!("{:?}: {}", entry.level, entry.text));
            }
            Event::PageJavascriptDialogOpening(event) => {
                wrong
                    .lock()
                    .unwrap()
                    .push(format!("dialog: {}", event.params.message));
            }
            _ => {}
        }))
        .unwrap();
        tab.call_method(Network::Enable {
            max_total_buffer_size: None,
            max_resource_buffer_size: None,
            max_post_data_size: None,
            report_direct_socket_traffic: None,
            enable_durable_messages: None,
        })
        .unwrap();
        tab.enable_log().unwrap();
        tab.enable_runtime().unwrap();
        let page = Page {
            tab,
            requests,
            problems,
            _browser: browser,
            _profile: profile,
        };
        page.set_size(size);
        page.go(url);
        Some(page)
    }

    /// Sets the inner size of the window.
    pub fn set_size(&self, (width, height): (u32, u32)) {
        self.tab
            .call_method(Emulation::SetDeviceMetricsOverride {
                width,
                height,
                device_scale_factor: 1.0,
                mobile: false,
                scale: None,
                screen_width: None,
                screen_height: None,
                position_x: None,
                position_y: None,
                dont_set_visible_size: None,
                screen_orientation: None,
                viewport: None,
                display_feature: None,
                device_posture: None,
            })
            .unwrap();
    }

    /// Sets the colour scheme of the system, "light" or "dark".
    pub fn set_scheme(&self, scheme: &str) {
        self.tab
            .call_method(Emulation::SetEmulatedMedia {
                media: None,
                features: Some(vec![Emulation::MediaFeature {
                    name: "prefers-color-scheme".into(),
                    value: scheme.into(),
                }]),
            })
            .unwrap();
    }

    /// Switches scripts off, as a user may.
    pub fn forbid_scripts(&self) {
        self.tab
            .call_method(Emulation::SetScriptExecutionDisabled { value: true })
            .unwrap();
    }

    /// Goes to an address and waits until it is loaded.
    pub fn go(&self, url: &str) {
        // going to another fragment of the same page would not be a navigation
        if url.contains('#') {
            self.go("about:blank");
        }
        self.tab.navigate_to(url).unwrap();
        self.tab.wait_until_navigated().unwrap();
        self.wait("document.readyState === 'complete'");
    }

    /// The value of an expression.
    pub fn js<T: DeserializeOwned>(&self, expression: &str) -> T {
        let json = self.eval(&format!("JSON.stringify({expression})"));
        let text = match json {
            Some(serde_json::Value::String(text)) => text,
            other => panic!("{expression} gives {other:?}"),
        };
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{expression} gives {text}: {e}"))
    }

    /// Runs a script and ignores its value.
    pub fn run(&self, script: &str) {
        self.eval(script);
    }

    fn eval(&self, expression: &str) -> Option<serde_json::Value> {
        let evaluated = self
            .tab
            .call_method(Runtime::Evaluate {
                expression: expression.into(),
                return_by_value: Some(true),
                await_promise: Some(true),
                silent: Some(true),
                object_group: None,
                include_command_line_api: None,
                context_id: None,
                generate_preview: None,
                user_gesture: None,
                throw_on_side_effect: None,
                timeout: None,
                disable_breaks: None,
                repl_mode: None,
                allow_unsafe_eval_blocked_by_csp: None,
                unique_context_id: None,
                serialization_options: None,
            })
            .unwrap();
        assert!(
            evaluated.exception_details.is_none(),
            "{expression}: {:?}",
            evaluated.exception_details
        );
        evaluated.result.value
    }

    /// Waits until an expression is true; a page that is being left may not answer. Panics after a minute: the expression becomes true within
    /// milliseconds, or never.
    pub fn wait(&self, condition: &str) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            let script = format!("document.readyState === 'complete' && Boolean({condition})");
            if self.tab.evaluate(&script, false).ok().and_then(|o| o.value) == Some(true.into()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{} never got to {condition}", self.tab.get_url());
    }

    /// Asserts that all visible text has enough contrast with its background, in a light and in a dark scheme. The dark one stays.
    #[track_caller]
    pub fn assert_contrasts(&self, what: &str) {
        for scheme in ["light", "dark"] {
            self.set_scheme(scheme);
            self.assert_contrast(&format!("{scheme} {what}"));
        }
    }

    /// Asserts that all visible text has at least the contrast that WCAG 2 asks for.
    #[track_caller]
    pub fn assert_contrast(&self, what: &str) {
        let worst: Vec<(String, f64)> = self.js(CONTRASTS);
        assert!(worst[0].1 >= 4.5, "{what}: {worst:?}");
    }

    /// Presses keys one after the other ("j", "Enter", "ArrowDown").
    pub fn keys(&self, keys: &[&str]) {
        for key in keys {
            self.tab.press_key(key).unwrap();
        }
    }

    /// Types into the element that has the focus.
    pub fn write(&self, text: &str) {
        self.tab.type_str(text).unwrap();
    }

    /// Clicks with the mouse on the middle of the first element of that selector.
    pub fn click(&self, selector: &str) {
        let [x, y]: [f64; 2] = self.js(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center', behavior: 'instant'}});
                const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        self.tab.click_point(Point { x, y }).unwrap();
    }

    /// The text of the first element of that selector.
    pub fn text(&self, selector: &str) -> String {
        self.js(&format!(
            "document.querySelector({selector:?}).textContent.trim()"
        ))
    }

    /// How many elements match.
    pub fn count(&self, selector: &str) -> usize {
        self.js(&format!("document.querySelectorAll({selector:?}).length"))
    }

    /// How many matching elements are visible.
    pub fn visible(&self, selector: &str) -> usize {
        self.js(&format!(
            "[...document.querySelectorAll({selector:?})].filter(e => e.checkVisibility({{visibilityProperty: true}})).length"
        ))
    }

    /// The number of printed pages, in the paper size that the page requests.
    pub fn printed_pages(&self) -> usize {
        let options = PrintToPdfOptions {
            prefer_css_page_size: Some(true),
            print_background: Some(true),
            ..PrintToPdfOptions::default()
        };
        let pdf = self.tab.print_to_pdf(Some(options)).unwrap();
        let text = String::from_utf8_lossy(&pdf);
        text.split("/Type /Page")
            .skip(1)
            .filter(|rest| !rest.starts_with('s'))
            .count()
    }

    /// The page with its pictures in a single file, MHTML, as the browser saves it.
    pub fn saved(&self) -> String {
        let format = Some(PageDomain::CaptureSnapshotFormatOption::Mhtml);
        let snapshot = PageDomain::CaptureSnapshot { format };
        self.tab.call_method(snapshot).unwrap().data
    }

    /// The addresses that were requested so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Takes the exceptions, log entries (violations of the policy among them) and dialogs so far.
    pub fn problems(&self) -> Vec<String> {
        std::mem::take(&mut self.problems.lock().unwrap())
    }
}

/// The address of a file that exists.
pub fn file_url(path: &Path) -> String {
    format!("file://{}", path.canonicalize().unwrap().display())
}

/// The contrast of text with its background, as WCAG 2 computes it: the six lowest, the lowest first.
const CONTRASTS: &str = r"(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const luminance = (c) => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => { if (!e) return rgba(getComputedStyle(document.documentElement).backgroundColor);
    const own = rgba(getComputedStyle(e).backgroundColor); return own[3] >= 1 ? own : over(own, ground(e.parentElement)); };
  const found = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e.checkVisibility() || e.closest('script, style, .dim')) continue;
    const style = getComputedStyle(e);
    const back = e.closest('svg') ? ground(e.closest('figure, article, main')) : ground(e);
    const front = over(rgba(e.closest('svg') ? style.fill : style.color), back);
    const [a, b] = [luminance(front), luminance(back)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    const name = e.tagName + '.' + (e.getAttribute('class') ?? '') + ' in ' + (e.parentElement.getAttribute('class') ?? e.parentElement.tagName);
    found[name] = Math.min(found[name] ?? 99, ratio);
  }
  return Object.entries(found).sort((x, y) => x[1] - y[1]).slice(0, 6);
})()";
