# SPDX-License-Identifier: BSD-2-Clause
# ktraced in a container, built and run on Debian 13.
#
#   docker build -t ktraced .
#
# docs/install.md has the command that runs it: as a user of its own, with four capabilities, never privileged.

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
		libarchive13t64 libbpf1 libcap2-bin libdw1t64 libelf1t64 libfmt10 libncursesw6 libseccomp2 libspdlog1.15 libsqlite3-0 libsystemd0 \
	&& rm -rf /var/lib/apt/lists/* \
	&& groupadd --system --gid 10736 ktrace \
	&& useradd --system --uid 10736 --gid ktrace --no-create-home --home-dir /var/lib/ktraced ktraced
COPY --from=build /out /
# Container engines give a user other than root no capabilities but those of the program that it runs. Of these it
# gets what --cap-add permits. The numbers are for directories of the host.
RUN setcap cap_bpf,cap_dac_read_search,cap_perfmon,cap_syslog=ep /usr/sbin/ktraced \
	&& install -d -o ktraced -g ktrace -m 0750 /var/lib/ktraced /var/log/ktraced \
	&& install -d -o ktraced -g ktrace -m 0755 /run/ktraced
USER 10736:10736
ENTRYPOINT ["ktraced"]
CMD ["--config", "/etc/ktraced/ktraced.json"]
