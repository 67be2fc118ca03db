//! Forms as a browser sends them: the token's, those of actions, and those that filter.

use super::browser::Browser;
use super::doors::with_token;
use super::{TOKEN, address, crawl, site, wait_until};

/// Presses a button as a hand would.
fn press(browser: &mut Browser, button: &str) {
    browser.tell(&format!("document.querySelector({button:?}).click(); 1"));
}

fn write(browser: &mut Browser, field: &str, text: &str) {
    browser.tell(&format!(
        "{{ const field = document.querySelector({field:?}); field.value = {text:?};
            field.dispatchEvent(new Event('input', {{bubbles: true}})); }} 1"
    ));
}

/// Whoever gives the token comes in, and the buttons do what they say.
fn come_in_and_act(browser: &mut Browser, base: &str) {
    browser.open(&format!("{base}/"));
    for (token, then) in [
        (
            "not the right one",
            "document.querySelector('[role=alert]')?.innerText.includes('wrong')",
        ),
        (TOKEN, "document.querySelector('nav') !== null"),
    ] {
        write(browser, "#token", token);
        press(browser, "form button");
        browser.wait(then);
    }
    for (action, words) in [
        ("pause", "The crawl is paused"),
        ("resume", "The crawl continues"),
        ("budget", "These budgets apply"),
    ] {
        browser.open(&format!("{base}/actions"));
        press(
            browser,
            &format!("form[action=\"/actions/{action}\"] button"),
        );
        browser.wait(&format!(
            "document.querySelector('[role=status]')?.innerText.includes({words:?})"
        ));
    }
    browser.open(&format!("{base}/page/0"));
    press(browser, "form[action=\"/actions/visit\"] button");
    browser.wait("document.querySelector('.done')?.innerText.includes('will be visited')");
}

/// What is outside a list follows its filter too.
fn filter(browser: &mut Browser, base: &str) {
    browser.open(&format!("{base}/changes"));
    write(browser, "input[name=host]", "no.such.host");
    browser.wait(
        "[...document.querySelectorAll('#feeds a')].every(feed => feed.href.includes('host=no.such.host'))",
    );
    let back = "document.querySelector('#present a[href=\"/budget\"]') !== null";
    browser.open(&format!("{base}/budget"));
    browser.wait("document.querySelector('input[type=range]') !== null");
    assert_eq!(browser.tell(back), false);
    // the slider tells the power of ten
    let middle = "(slider => (Number(slider.min) + Number(slider.max)) / 2)(document.querySelector('input[type=range]'))";
    let middle = browser.tell(middle).as_f64().unwrap();
    write(browser, "#budget-number", &10f64.powf(middle).to_string());
    browser.wait(back);
    let power = browser.tell("Number(document.querySelector('input[type=range]').value)");
    let power = power.as_f64().unwrap();
    assert!((power - middle).abs() < 0.02, "{power} {middle}");
}

#[test]
fn forms_work_in_a_browser() {
    let (server, _) = site(99);
    let mut crawler = with_token(crawl(&server));
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    let base = address(&process);
    let Some(mut browser) = Browser::start(crawler.directory.path()) else {
        return;
    };
    browser.screen(1280, 900, false);
    wait_until("pages", || crawler.pages().len() >= 5);
    come_in_and_act(&mut browser, &base);
    filter(&mut browser, &base);
}
