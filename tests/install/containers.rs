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

/// The configuration in the ConfigMap.
fn config_map() -> String {
    let text = read(KUBERNETES);
    let (_, rest) = text.split_once("  bloomline.conf: |\n").expect("the configuration");
    rest.split_once("---\n").expect("its end").0.to_owned()
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
fn compose_and_kubernetes_have_the_same_configuration() {
    let (file, map) = (read("packaging/bloomline.conf"), config_map());
    assert_eq!(directives(&file), directives(&map));
    assert_eq!(directives(&file)[0], format!("loadmodule {}", module_in_image()));
}

#[test]
fn a_server_starts_with_the_configuration_of_the_containers() {
    let text = read("packaging/bloomline.conf");
    for_newest_servers(|kind| {
        let data = tempfile::tempdir().unwrap();
        let mut setup = Setup::new().bare();
        for line in directives(&text) {
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
fn images_are_those_of_the_dockerfile() {
    let dockerfile = read("Dockerfile");
    let ours = behind(&dockerfile, "docker build -t ");
    assert_eq!(ours[0], "bloomline .");
    let server = behind(&dockerfile, "ARG SERVER_IMAGE=");
    assert_eq!(behind(&read(COMPOSE), "  image: "), ["bloomline"]);
    assert_eq!(behind(&read(KUBERNETES), "  image: "), ["bloomline", &server[0]]);
}

#[test]
fn paths_in_kubernetes_are_those_of_the_image() {
    let (text, path) = (read(KUBERNETES), module_in_image());
    let (folder, _) = path.rsplit_once('/').unwrap();
    assert!(text.contains(&format!("command: [\"cp\", \"{path}\", \"/module/\"]")), "{path}");
    let mounts = behind(&text, "mountPath: ");
    assert_eq!(mounts, ["/module", "/data", folder, "/etc/bloomline"]);
    for file in [COMPOSE, KUBERNETES] {
        assert!(read(file).contains("[\"/etc/bloomline/bloomline.conf\"]"), "{file}");
    }
}

#[test]
fn the_port_is_that_of_the_servers() {
    let compose = behind(&read(COMPOSE), "ports: ");
    assert_eq!(compose, ["[\"127.0.0.1:6379:6379\"]"]);
    let kubernetes = read(KUBERNETES);
    assert_eq!(behind(&kubernetes, "  port: "), ["6379"]);
    assert_eq!(behind(&kubernetes, "containerPort: "), ["6379"]);
    // No directive changes it.
    assert!(!directives(&config_map()).iter().any(|line| line.starts_with("port ")));
}

#[test]
fn the_page_has_the_commands_of_both_files() {
    let page = read("docs/how-to/production.md");
    for file in [COMPOSE, KUBERNETES] {
        let text = read(file);
        let commands: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
        assert_eq!(commands.len(), 2, "{file}");
        for command in commands {
            assert!(page.contains(command), "{file}: {command}");
        }
    }
}

#[test]
fn documented_build_arguments_exist_in_the_dockerfile() {
    let file = read("Dockerfile");
    for text in [&file, &read("docs/how-to/install.md")] {
        for mention in text.split("--build-arg ").skip(1) {
            let name = mention.split('=').next().unwrap();
            assert!(file.contains(&format!("\nARG {name}")), "no argument {name}");
        }
    }
}

#[test]
fn ignored_files_are_not_sent_to_the_builder() {
    let left_out = read(".dockerignore");
    for line in read(".gitignore").lines().filter(|line| !line.starts_with('#')) {
        let pattern = line.trim_matches('/');
        let is_left_out = left_out.lines().any(|line| line.trim_start_matches("**/") == pattern);
        assert!(is_left_out, ".dockerignore lacks {line}");
    }
}
