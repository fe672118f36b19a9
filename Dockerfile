# SPDX-License-Identifier: BSD-2-Clause
# ktraced in a container, built and run on Debian 13.
#
#   docker build -t ktraced .
#
# docs/install.md has the command that runs it: with four capabilities, never privileged.

FROM debian:trixie AS build
WORKDIR /ktraced
COPY scripts/lib scripts/lib
RUN bash -c 'set -euo pipefail && . scripts/lib/common.sh && . scripts/lib/packages.sh \
	&& install_packages "${build_packages[@]}" "${html_packages[@]}"'
COPY CMakeLists.txt LICENSE ./
COPY bpf bpf
COPY cmake cmake
COPY configs configs
COPY html html
COPY src src
RUN cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DKTRACED_UNITY=ON -DKTRACED_TESTS=OFF -DKTRACED_MAN=OFF \
	&& cmake --build build \
	&& DESTDIR=/out cmake --install build --strip

FROM debian:trixie-slim
RUN apt-get update \
	&& apt-get install -y --no-install-recommends \
		libbpf1 libfmt10 libncursesw6 libseccomp2 libspdlog1.15 libsqlite3-0 libsystemd0 \
	&& rm -rf /var/lib/apt/lists/* \
	&& groupadd --system ktrace
COPY --from=build /out /
# Without CAP_CHOWN the daemon can give its socket only to a group of its own.
USER root:ktrace
ENTRYPOINT ["ktraced"]
CMD ["--config", "/etc/ktraced/ktraced.json"]
