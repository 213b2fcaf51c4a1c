//! BF.HELP: a summary of the commands for users of redis-cli.

use bloomline_harness::{Kind, Setup, for_each_server, show};
use redis::Value;

use crate::inspect::text;

/// The lines of the reply.
fn lines(reply: &Value) -> Vec<String> {
    let Value::Array(lines) = reply else { panic!("expected an array, got {}", show(reply)) };
    let line = |line: &Value| match line {
        Value::SimpleString(text) => text.clone(),
        other => panic!("expected a simple string, got {}", show(other)),
    };
    lines.iter().map(line).collect()
}

/// The names of the module's commands, as the server lists them.
fn commands(kind: &Kind) -> Vec<String> {
    let server = Setup::new().start(kind);
    let Value::Array(names) = server.resp2().call("COMMAND LIST FILTERBY MODULE bf") else {
        panic!("expected an array")
    };
    names.iter().map(|name| text(name).to_uppercase()).collect()
}

#[test]
fn help_has_the_form_of_the_servers_and_all_commands() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        for mut client in [server.resp2(), server.resp3()] {
            let ours = lines(&client.call("BF.HELP"));
            let servers = lines(&client.call("OBJECT HELP"));
            assert_eq!(ours, lines(&client.call("bf.help")));
            // A line with the syntax, then sentences that are indented by four blanks.
            for (ours, servers) in ours.iter().zip(&servers).take(3) {
                assert_eq!(
                    ours.starts_with("    "),
                    servers.starts_with("    "),
                    "{ours}\n{servers}"
                );
            }
            assert!(ours[0].ends_with("Commands are:") && servers[0].ends_with("Subcommands are:"));
            if kind.is_before_7() {
                // Redis 6.2 has no COMMAND LIST.
                continue;
            }
            let listed: Vec<&str> = ours[1..]
                .iter()
                .filter(|line| !line.starts_with(' '))
                .map(|line| line.split(' ').next().unwrap())
                .collect();
            for name in commands(kind) {
                assert!(listed.contains(&name.as_str()), "{name}");
            }
            assert_eq!(listed.len(), commands(kind).len());
        }
    });
}

#[test]
fn help_has_no_key_and_the_flags_of_the_servers_help() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        // Older servers refuse every call of this length, with another text.
        assert!(client.ask("COMMAND GETKEYS BF.HELP").starts_with("-ERR "));
        assert_eq!(client.ask("bf.help k"), "-ERR wrong number of arguments for 'bf.help' command");
        let info = client.ask("COMMAND INFO bf.help");
        assert!(info.contains("+loading +stale"), "{info}");
        if kind.has_acl_categories() {
            assert!(info.contains("+@bloom"), "{info}");
        }
        if kind.is_before_7() {
            return;
        }
        let flags = client.ask("COMMAND INFO object|help");
        assert!(flags.contains("+loading +stale"), "{flags}");
        let docs = client.ask("COMMAND DOCS bf.help");
        assert!(docs.contains("summary") && docs.contains("0.1.0"), "{docs}");
    });
}

#[test]
fn help_works_while_the_server_has_no_data() {
    for_each_server(|kind| {
        let server = Setup::new().line("replica-serve-stale-data no").on_tcp().start(kind);
        let mut client = server.resp2();
        // No server listens on this port.
        client.ok("REPLICAOF 127.0.0.1 1");
        assert!(client.ask("BF.EXISTS k a").starts_with("-MASTERDOWN"));
        assert!(client.ask("BF.HELP").starts_with("*[+BF."));
    });
}
