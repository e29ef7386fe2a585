//! Packages of Java that many programs use and few people write: a program's own methods are those around them.
//!
//! A method says neither which archive it is from nor who wrote it; so these are named, by how their packages begin.

const PACKAGES: [&str; 44] = [
    "akka.",
    "ch.qos.logback.",
    "clojure.",
    "com.datastax.",
    "com.fasterxml.",
    "com.google.common.",
    "com.google.gson.",
    "com.google.protobuf.",
    "com.hazelcast.",
    "com.mongodb.",
    "com.mysql.",
    "com.rabbitmq.",
    "com.squareup.",
    "com.zaxxer.",
    "groovy.",
    "io.grpc.",
    "io.lettuce.",
    "io.micrometer.",
    "io.micronaut.",
    "io.netty.",
    "io.opentelemetry.",
    "io.quarkus.",
    "io.undertow.",
    "io.vertx.",
    "jakarta.",
    "kotlin.",
    "kotlinx.",
    "okhttp3.",
    "okio.",
    "org.apache.",
    "org.bouncycastle.",
    "org.eclipse.jetty.",
    "org.h2.",
    "org.hibernate.",
    "org.jboss.",
    "org.mariadb.",
    "org.postgresql.",
    "org.slf4j.",
    "org.springframework.",
    "org.sqlite.",
    "reactor.",
    "redis.clients.",
    "retrofit2.",
    "scala.",
];

/// Whether a method, by its full name, is of such a package.
pub fn is_of_library(method: &str) -> bool {
    PACKAGES.iter().any(|package| method.starts_with(package))
}
