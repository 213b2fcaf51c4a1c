//! packaging/compose.yaml and packaging/kubernetes.yaml: they name the same files, images and port
//! as the Dockerfile, and a server starts with their configuration. `make lint` checks their
//! schemas, and the Dockerfile.

use std::fs;

use bloomline_harness::{Setup, for_newest_servers, module, repository};

const COMPOSE: &str = "packaging/compose.yaml";
const KUBERNETES: &str = "packaging/kubernetes.yaml";

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

/// The directives of a configuration, without comments.
fn directives(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// What stands behind `before` on the lines that contain it.
fn behind(text: &str, before: &str) -> Vec<String> {
    let values = text.lines().filter_map(|line| Some(line.split_once(before)?.1.trim().to_owned()));
    values.collect()
}

/// The path of the module in the image, which is the last word of the Dockerfile.
fn module_in_image() -> String {
    let text = read("Dockerfile");
    let (_, command) = text.rsplit_once("CMD [\"--loadmodule\", \"").expect("the command");
    command.split('"').next().expect("a path").to_owned()
}

#[test]
fn a_server_starts_with_the_configuration_of_the_containers() {
    let (text, kubernetes) = (read("packaging/bloomline.conf"), read(KUBERNETES));
    let (_, map) = kubernetes.split_once("  bloomline.conf: |\n").expect("the configuration");
    let (map, _) = map.split_once("---\n").expect("its end");
    assert_eq!(directives(&text), directives(map));
    for_newest_servers(|kind| {
        let data = tempfile::tempdir().unwrap();
        let mut setup = Setup::new().bare();
        for line in directives(&text) {
            // No directive changes the port.
            assert!(!line.starts_with("port "), "{line}");
            setup = setup.line(
                line.replace(&module_in_image(), &module().display().to_string())
                    .replace("dir /data", &format!("dir {}", data.path().display())),
            );
        }
        let server = setup.start(kind);
        assert_eq!(server.resp2().ask("BF.ADD bloom foo"), ":1");
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1, "the append-only file");
    });
}

#[test]
fn containers_have_the_images_paths_and_ports_of_the_dockerfile() {
    let (path, dockerfile) = (module_in_image(), read("Dockerfile"));
    let (folder, _) = path.rsplit_once('/').unwrap();
    let copied = format!("\"{path}\", \"/module/\"]");
    let server = &behind(&dockerfile, "ARG SERVER_IMAGE=")[0];
    let config = "[\"/etc/bloomline/bloomline.conf\"]";
    for (file, before, expected) in [
        ("packaging/bloomline.conf", "loadmodule ", &[&path[..]][..]),
        (COMPOSE, "  image: ", &["bloomline"]),
        (COMPOSE, "  command: ", &[config]),
        (COMPOSE, "ports: ", &["[\"127.0.0.1:6379:6379\"]"]),
        (KUBERNETES, "  image: ", &["bloomline", server]),
        (KUBERNETES, "  args: ", &[config]),
        (KUBERNETES, "command: [\"cp\", ", &[&copied[..]]),
        (KUBERNETES, "mountPath: ", &["/module", "/data", folder, "/etc/bloomline"]),
        (KUBERNETES, "  port: ", &["6379"]),
        (KUBERNETES, "containerPort: ", &["6379"]),
    ] {
        assert_eq!(behind(&read(file), before), expected, "{file}: {before}");
    }
    assert_eq!(behind(&dockerfile, "docker build -t ")[0], "bloomline .");
}

#[test]
fn pages_have_the_commands_and_arguments_of_the_files() {
    let page = read("docs/how-to/production.md");
    for file in [COMPOSE, KUBERNETES] {
        let commands = behind(&read(file), "#   ");
        assert_eq!(commands.len(), 2, "{file}");
        for command in commands {
            assert!(page.contains(&command), "{file}: {command}");
        }
    }
    let dockerfile = read("Dockerfile");
    for text in [&dockerfile, &read("docs/how-to/install.md")] {
        for mention in text.split("--build-arg ").skip(1) {
            let name = mention.split('=').next().unwrap();
            assert!(dockerfile.contains(&format!("\nARG {name}")), "no argument {name}");
        }
    }
}

#[test]
fn ignored_files_are_not_sent_to_the_builder() {
    let left_out = read(".dockerignore");
    for line in read(".gitignore").lines() {
        let pattern = line.trim_matches('/');
        let is_left_out = left_out.lines().any(|line| line.trim_start_matches("**/") == pattern);
        assert!(is_left_out, ".dockerignore lacks {line}");
    }
}
