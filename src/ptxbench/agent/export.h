// The files of a trajectory that are made from its log: kernels, verdicts, and the trajectory as mini-swe-agent's tools
// read it. They can be made again at any time.
#pragma once

#include <filesystem>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::agent {

// kernels/v<N>.cu and kernels/v<N>.verdict.jsonl (one line per workload), if the turn has a kernel; then the trajectory.
Status export_turn(const std::filesystem::path& run, const schema::Trajectory& trajectory, const schema::Turn& turn);

// <id>.traj.json, and every turn's files that are not there yet.
Status export_trajectory(const std::filesystem::path& run, const schema::RunManifest& manifest,
                         const schema::Trajectory& trajectory);

// summary.json of the run: what became of every trajectory, and what it cost.
std::string summary_json(const schema::RunManifest& manifest, const std::vector<schema::Trajectory>& trajectories);

}  // namespace ptxbench::agent
