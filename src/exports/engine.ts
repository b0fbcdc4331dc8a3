/** `reprise/engine`: the rest of the engine: commands, profiles, maintenance, file tools, and the types of reports and options. */

export type { ModelChoice } from '../config/open-reprise.ts';
export type { ConvlogView } from '../engine/admin/convlog.ts';
export type { ExplainedCall, Explanation } from '../engine/admin/explain.ts';
export {
  type MaintenanceItem,
  type MaintenancePlan,
  type MaintenanceReason,
  planMaintenance,
} from '../engine/admin/maintenance.ts';
export type { Duration, MaintenanceRules } from '../engine/admin/maintenance-rules.ts';
export {
  type MaintenanceOptions,
  type MaintenanceReport,
  runMaintenance,
} from '../engine/admin/run-maintenance.ts';
export type { SessionTotals } from '../engine/admin/totals.ts';
export type { UsageQuery } from '../engine/admin/usage-book.ts';
export type { UsageSum } from '../engine/admin/usage-counter.ts';
export type { UsageOverview } from '../engine/admin/usage-sums.ts';
export type { AgentOptions, Agents } from '../engine/agents/agents.ts';
export {
  type CompactionTrigger,
  isProfileName,
  PROFILES,
  type Profile,
  type ProfileName,
} from '../engine/agents/profiles.ts';
export type { ModelInUse } from '../engine/agents/session-models.ts';
export type { SpawnRequest, SpawnResult } from '../engine/agents/spawn-request.ts';
export type { Cleanup, RunStatus } from '../engine/agents/subagent-run.ts';
export type { SubagentRun } from '../engine/agents/subagents.ts';
export type { SessionReachName } from '../engine/agents/tool-policy.ts';
export type { Clock, TimerHandle } from '../engine/clock.ts';
export type { CommandContext, CommandHost, CommandResult } from '../engine/commands/command-context.ts';
export {
  COMMANDS,
  type Command,
  type CommandName,
  type CommandRow,
  commandHelp,
  type EscapedMessage,
  parseCommand,
  type Surface,
  type UnknownCommand,
  unknownCommandText,
} from '../engine/commands/commands.ts';
export { runCommand } from '../engine/commands/run-command.ts';
export type { GuardEvent } from '../engine/events.ts';
export type { MergeOptions, MergeResult } from '../engine/history/merge-history.ts';
export type { PurgeReport, PurgeSessionOptions, TextCopy } from '../engine/history/purge-session.ts';
export type { UndoResult } from '../engine/history/take-step.ts';
export type { ResetPolicy, ResetRules } from '../engine/intake/freshness.ts';
export type { Sender } from '../engine/intake/inbound.ts';
export type { ChatType, SendAction, SendPolicy, SendRule } from '../engine/intake/send-policy.ts';
export type { RepriseOptions } from '../engine/reprise.ts';
export type { LaneLimits } from '../engine/schedule/lanes.ts';
export type { QueueMode } from '../engine/schedule/queue.ts';
export type { StopOptions, StopResult } from '../engine/schedule/stop-session.ts';
export type { CompactionEvent, CompactRequest, SendAgainOptions } from '../engine/session.ts';
export type { SessionOptions } from '../engine/session-options.ts';
export type { QueueSettings, SessionSettings } from '../engine/session-settings.ts';
export type { ToolInput } from '../engine/tools/define-tool.ts';
export { createFileTools } from '../engine/tools/file-tools.ts';
export type { ParsedInput, ToolContent, ToolSession } from '../engine/tools/tool.ts';
export type { StandardSchema } from '../engine/tools/tool-input.ts';
export type { ToolList } from '../engine/tools/tool-list.ts';
export type { CallManifest } from '../engine/turn/manifest.ts';
export type { TokenSplit } from '../engine/turn/turn-context.ts';
export type { TurnSettings } from '../engine/turn/turn-settings.ts';
export type { ApiMessage } from '../engine/window/api-messages.ts';
export type { CompactionPreview } from '../engine/window/compactor.ts';
export type { ContextReport } from '../engine/window/context-report.ts';
export type { GuardStep } from '../engine/window/guard-model-call.ts';
export { ERROR_TABLE, type ErrorRow, type Outcome, type RepriseErrorOptions } from '../errors.ts';
