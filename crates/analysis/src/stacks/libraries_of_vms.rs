//! What comes with .NET and with Erlang, by the names of functions: a function of theirs names no file.

/// Whether a method of .NET is of its own libraries.
pub fn is_of_dotnet(method: &str) -> bool {
    const BEGIN: [&str; 5] = ["System.", "Microsoft.", "Interop.", "Internal.", "Windows."];
    BEGIN.iter().any(|begin| method.starts_with(begin))
}

/// How the names of modules begin that come with Erlang.
const APPLICATIONS: &str = "application asn1 code crypto elixir erl_ erlang gen group httpc inet io_lib kernel logger mnesia otp_ \
    prim_ proc_lib pubkey ssh ssl supervisor tls_ user zlib";
/// Others of its modules, by their whole names.
const MODULES: &str = "array base64 beam_lib binary calendar dets dict error_handler error_logger ets file filelib filename gb_sets \
    gb_trees init io lists maps math net_kernel orddict ordsets os proplists queue rand re sets string timer unicode uri_string";
/// And how the names of Elixir's begin.
const OF_ELIXIR: &str = "Access Agent Application Code Collectable Date DateTime Enum Enumerable File Float GenServer IO Inspect \
    Integer Kernel Keyword List Logger Map MapSet Module Path Process Range Regex Registry Stream String Supervisor System Task URI";

/// Whether a function of Erlang or Elixir is of their own modules.
pub fn is_of_otp(function: &str) -> bool {
    match function.split_once(':') {
        Some((module, _)) => {
            let mut applications = APPLICATIONS.split_whitespace();
            MODULES.split_whitespace().any(|own| own == module)
                || applications.any(|begin| module.starts_with(begin))
        }
        None => {
            let module = function.split('.').next();
            OF_ELIXIR.split_whitespace().any(|own| Some(own) == module)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program has itself is none of theirs.
    #[test]
    fn of_whom() {
        assert!(is_of_dotnet("System.Threading.Thread.Sleep"));
        assert!(!is_of_dotnet("SystemTests.Shop.Price"));
        assert!(is_of_otp("lists:foldl/3") && is_of_otp("gen_server:call/2"));
        assert!(is_of_otp("Enum.-reduce/3-lists^foldl/2-0-/3"));
        assert!(!is_of_otp("shop:price/1") && !is_of_otp("Shop.price/1"));
    }
}
