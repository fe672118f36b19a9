// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/container.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kOther = "f" + kId.substr(1);

void expect_container(const std::string& path, const Container& expected) {
  const auto container = container_of(path);
  ASSERT_TRUE(container) << path;
  EXPECT_EQ(container->runtime, expected.runtime) << path;
  EXPECT_EQ(container->id, expected.id) << path;
  EXPECT_EQ(container->pod, expected.pod) << path;
}

TEST(Container, IsFoundBelowSystemSlice) {
  expect_container("/system.slice/docker-" + kId + ".scope", {"docker", kId, ""});
  expect_container("/system.slice/nerdctl-" + kId + ".scope", {"nerdctl", kId, ""});
  expect_container("/machine.slice/libpod-" + kId + ".scope", {"podman", kId, ""});
  expect_container(
      "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope/container",
      {"podman", kId, ""});
}

TEST(Container, IsFoundWithTheDriverCgroupfs) {
  expect_container("/docker/" + kId, {"docker", kId, ""});
  expect_container("/libpod_parent/libpod-" + kId, {"podman", kId, ""});
  expect_container("/default/" + kId, {"containerd", kId, ""});
  expect_container("/anything/" + kId, {"", kId, ""});
}

TEST(Container, HasThePodOfKubernetes) {
  const std::string pod = "1b2c3d4e-0000-1111-2222-333344445555";
  const std::string escaped = "1b2c3d4e_0000_1111_2222_333344445555";
  expect_container("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + escaped +
                       ".slice/cri-containerd-" + kId + ".scope",
                   {"containerd", kId, pod});
  expect_container(
      "/kubepods.slice/kubepods-pod" + escaped + ".slice/crio-" + kId + ".scope/container",
      {"cri-o", kId, pod});
  expect_container("/kubepods/besteffort/pod" + pod + "/" + kId, {"", kId, pod});
}

TEST(Container, IsTheInnermostOne) {
  expect_container("/docker/" + kOther + "/docker/" + kId, {"docker", kId, ""});
  expect_container("/system.slice/docker-" + kId + ".scope/init.scope", {"docker", kId, ""});
}

TEST(Container, MayHaveANameInsteadOfAnId) {
  expect_container("/lxc.payload.web/system.slice", {"lxc", "web", ""});
  expect_container("/lxc/web", {"lxc", "web", ""});
  expect_container("/machine.slice/machine-debian.scope", {"systemd", "debian", ""});
  expect_container("/machine.slice/systemd-nspawn@debian.service/payload",
                   {"systemd", "debian", ""});
}

TEST(Container, IsNotFoundInOtherPaths) {
  for (const std::string path :
       {"", "/", "/system.slice/sshd.service", "/system.slice/docker.service",
        "/user.slice/user-1000.slice/session-2.scope", "/init.scope",
        "/kubepods.slice/kubepods-burstable.slice", "/machine.slice"})
    EXPECT_FALSE(container_of(path)) << path;
  EXPECT_FALSE(container_of("/system.slice/crio-conmon-" + kId + ".scope")) << "its monitor";
  EXPECT_FALSE(container_of("/system.slice/libpod-conmon-" + kId + ".scope")) << "its monitor";
  EXPECT_FALSE(container_of("/docker/" + kId.substr(1))) << "too short";
  EXPECT_FALSE(container_of("/docker/g" + kId.substr(1))) << "not hexadecimal";
}

}  // namespace
}  // namespace ktraced
