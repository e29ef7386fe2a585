//! The page's types are generated from ours, and kept beside the page.

use std::path::Path;

use ts_rs::{Config, TS};

use super::*;

/// What the page believes of the data is what the data are.
#[test]
fn types_of_the_page_are_generated() {
    let folder = std::env::temp_dir().join(format!("timesink-page-types-{}", std::process::id()));
    let config = Config::new().with_large_int("number").with_out_dir(&folder);
    fn export<T: TS + 'static>(config: &Config) {
        T::export_all(config).unwrap_or_else(|error| panic!("{}: {error}", T::name(config)));
    }
    export::<Overview>(&config);
    export::<Answer>(&config);
    export::<Checks>(&config);
    export::<PathTile>(&config);
    export::<LaneTile>(&config);
    export::<Bands>(&config);
    export::<Code>(&config);
    export::<FlameTile>(&config);
    export::<Things>(&config);
    export::<Calls>(&config);
    export::<Thing>(&config);
    export::<WhatIf>(&config);
    export::<Predicted>(&config);
    export::<Compare>(&config);
    let made = std::fs::read_to_string(folder.join("model.ts")).expect("they were written");
    let _ = std::fs::remove_dir_all(&folder);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/generated/model.ts");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(kept.parent().expect("it is in a folder")).expect("a folder");
        std::fs::write(&kept, &made).expect("it can be written");
    }
    let kept = std::fs::read_to_string(&kept).unwrap_or_default();
    assert!(
        made == kept,
        "UPDATE=1 cargo test -p timesink-page writes web/src/generated/model.ts"
    );
}
