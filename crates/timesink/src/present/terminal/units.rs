//! Figures as a person reads them.

/// A whole number with commas between thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with this many decimals, and commas between thousands.
fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    match whole.parse::<u64>() {
        Ok(whole) => format!("{}{rest}", count(whole)),
        Err(_) => text,
    }
}

/// Three significant digits, as far as they are behind the point.
fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    decimal(value, decimals)
}

/// A length of time that stands alone: `10.9 us`, `1.21 ms`, `14.21 s`, `4 min 12 s`, `3 h 02 min`.
pub fn time(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        0..=999 => format!("{ns} ns"),
        1_000..=999_499 => format!("{} us", three_digits(value / 1e3)),
        999_500..=999_499_999 => format!("{} ms", three_digits(value / 1e6)),
        999_500_000..=119_999_999_999 => format!("{} s", decimal(value / 1e9, 2)),
        _ => {
            let seconds = ns / 1_000_000_000;
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            match hours {
                0 => format!("{minutes} min {:02} s", seconds % 60),
                _ => format!("{} h {minutes:02} min", count(hours)),
            }
        }
    }
}

/// The unit and decimals for a column of times, so that they can be compared at a glance.
#[derive(Clone, Copy)]
pub struct Scale {
    unit: &'static str,
    ns: f64,
    decimals: usize,
}

impl Scale {
    /// The scale for times of which the largest is this.
    pub fn of(largest_ns: u64) -> Scale {
        let (unit, ns) = match largest_ns {
            0..=999_999 => ("us", 1e3),
            1_000_000..=999_999_999 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        let decimals = match largest_ns as f64 / ns {
            v if v < 10.0 => 3,
            v if v < 100.0 => 2,
            v if v < 1000.0 => 1,
            _ => 0,
        };
        Scale { unit, ns, decimals }
    }

    pub fn time(&self, ns: u64) -> String {
        format!(
            "{} {}",
            decimal(ns as f64 / self.ns, self.decimals),
            self.unit
        )
    }
}

/// Times beside the wall time that they are part of: its unit, and as many digits as it has.
#[derive(Clone, Copy)]
pub struct Span {
    scale: Scale,
    /// Minutes and hours are not told by one unit.
    long: bool,
}

impl Span {
    pub fn within(wall_ns: u64) -> Span {
        const LONG_NS: u64 = 120_000_000_000;
        let mut scale = Scale::of(wall_ns);
        scale.decimals = match wall_ns as f64 / scale.ns {
            value if value < 9.995 => 2,
            value if value < 99.95 => 1,
            _ => 0,
        };
        Span {
            scale,
            long: wall_ns >= LONG_NS,
        }
    }

    /// `0.50 s`. What is negative is nothing.
    pub fn one(&self, ns: i64) -> String {
        let ns = u64::try_from(ns).unwrap_or(0);
        match self.long {
            true => time(ns),
            false => self.scale.time(ns),
        }
    }

    /// `0.47-1.34`.
    pub fn range(&self, lo_ns: i64, hi_ns: i64) -> String {
        let bound = |ns: i64| {
            let ns = u64::try_from(ns).unwrap_or(0);
            decimal(ns as f64 / self.scale.ns, self.scale.decimals)
        };
        match self.long {
            true => format!("{} - {}", self.one(lo_ns), self.one(hi_ns)),
            false => format!("{}-{}", bound(lo_ns), bound(hi_ns)),
        }
    }
}

/// An amount of data, in powers of ten: `712 B`, `1.8 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1e3;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    let decimals = usize::from(value < 99.95);
    format!("{} {}", decimal(value, decimals), UNITS[unit])
}

/// A share with one decimal.
pub fn percent(value: f64) -> String {
    format!("{value:.1} %")
}

/// A share from 0 to 1 as whole percents: `42 %`, `<1 %`.
pub fn whole_percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p > 0.0 && p < 0.95 => "<1 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

/// How many times: `1.7 times`, `120 times`.
pub fn times(value: f64) -> String {
    let decimals = usize::from(value < 9.95);
    format!("{} times", decimal(value, decimals))
}

/// A difference in percent, with its sign.
pub fn signed_percent(value: f64) -> String {
    let text = format!("{value:+.1} %");
    if text == "-0.0 %" || text == "+0.0 %" {
        return "±0.0 %".to_owned();
    }
    text
}

/// A ratio: `1.012`, `12.40`, `120.0`.
pub fn ratio(value: f64) -> String {
    let decimals = match value {
        v if v < 10.0 => 3,
        v if v < 100.0 => 2,
        _ => 1,
    };
    decimal(value, decimals)
}

/// How many times, with three digits: `2.41`, `120`.
pub fn factor(value: f64) -> String {
    three_digits(value)
}

/// A figure of an unknown unit, with four digits: `0.01234`, `12.34`, `1,234`.
pub fn figure(value: f64) -> String {
    let magnitude = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    decimal(value, (3.0 - magnitude).clamp(0.0, 12.0) as usize)
}

/// `1 thread`, `3 threads`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// `812/s`, `2.5/s`.
pub fn rate(rate: f64) -> String {
    match rate >= 10.0 {
        true => format!("{}/s", count(rate.round() as u64)),
        false => format!("{rate:.1}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each figure reads as a person would write it.
    #[test]
    fn figures_read_well() {
        assert_eq!(count(1_204_332), "1,204,332");
        assert_eq!(count(12), "12");
        assert_eq!(time(10_900), "10.9 us");
        assert_eq!(time(999_600), "1.00 ms");
        assert_eq!(time(14_210_000_000), "14.21 s");
        assert_eq!(time(252_000_000_000), "4 min 12 s");
        assert_eq!(time(10_920_000_000_000), "3 h 02 min");
        assert_eq!(times(1.66), "1.7 times");
        assert_eq!(times(1204.4), "1,204 times");
        assert_eq!(factor(2.412), "2.41");
        assert_eq!(ratio(1.0123), "1.012");
        assert_eq!(ratio(1204.4), "1,204.4");
        assert_eq!(figure(0.012_34), "0.01234");
        assert_eq!(figure(12_340.0), "12,340");
        assert_eq!(bytes(1_800_000), "1.8 MB");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(signed_percent(-0.01), "±0.0 %");
        assert_eq!(signed_percent(0.3), "+0.3 %");
        assert_eq!(whole_percent(0.416), "42 %");
        assert_eq!(whole_percent(0.004), "<1 %");
    }

    /// A gain has the unit of the wall time that it is part of, and never less than nothing.
    #[test]
    fn gains_have_the_unit_of_the_wall_time() {
        let span = Span::within(2_610_000_000);
        assert_eq!(span.one(605_000_000), "0.60 s");
        assert_eq!(span.range(563_000_000, 1_560_000_000), "0.56-1.56");
        assert_eq!(span.one(-5), "0.00 s");
        let span = Span::within(33_000_000);
        assert_eq!(span.one(12_340_000), "12.3 ms");
        let hour = Span::within(3_600_000_000_000);
        assert_eq!(hour.one(252_000_000_000), "4 min 12 s");
    }

    /// A column keeps one unit, with decimals that fit its largest figure.
    #[test]
    fn columns_keep_their_unit() {
        let scale = Scale::of(14_210_000_000);
        assert_eq!(scale.time(13_080_000_000), "13.08 s");
        assert_eq!(scale.time(90_000_000), "0.09 s");
        assert_eq!(Scale::of(5_000_000).time(12_000), "0.012 ms");
        assert_eq!(
            Scale::of(20_000_000_000_000).time(14_400_000_000_000),
            "14,400 s"
        );
    }
}
