import { validateAnthropicMessages } from '../providers/anthropic.ts';
import { isBlank, isRecord, type JsonRecord } from '../providers/json.ts';
import type { Report, Violation } from '../providers/violation.ts';

const MAX_BREAKPOINTS = 4;
const MIN_THINKING_BUDGET = 1024;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** Everything that the Messages API checks before it starts: the conversation and the other fields. */
export function judgeAnthropicBody(body: JsonRecord): Violation[] {
  const violations: Violation[] = [];
  const report: Report = (rule, at, message) => {
    violations.push({ rule, at, message });
  };
  if (typeof body.model !== 'string') report('model', 'model', 'model: Field required');
  if (typeof body.max_tokens !== 'number') report('max-tokens', 'max_tokens', 'max_tokens: Field required');
  else if (!Number.isSafeInteger(body.max_tokens) || body.max_tokens < 1) {
    report('max-tokens', 'max_tokens', 'max_tokens: Input should be greater than or equal to 1');
  }
  judgeSystem(body.system, report);
  judgeTools(body.tools, report);
  judgeThinking(body, report);
  judgeBreakpoints(body, report);
  const messages = Array.isArray(body.messages) ? body.messages : [];
  violations.push(...validateAnthropicMessages(messages));
  return violations;
}

function judgeSystem(system: unknown, report: Report): void {
  if (system === undefined || typeof system === 'string') return;
  if (!Array.isArray(system)) {
    report('shape', 'system', 'system: Input should be a valid string or list');
    return;
  }
  for (const [i, block] of system.entries()) {
    const text = isRecord(block) && block.type === 'text' ? block.text : undefined;
    if (typeof text !== 'string') report('shape', `system.${i}`, 'system: not a text block');
    else if (isBlank(text))
      report('empty-text', `system.${i}`, 'system: text content blocks must be non-empty');
  }
}

function judgeTools(tools: unknown, report: Report): void {
  if (tools === undefined) return;
  const names = new Set<string>();
  for (const [i, tool] of (Array.isArray(tools) ? tools : [tools]).entries()) {
    const at = `tools.${i}`;
    const { name, input_schema: schema }: JsonRecord = isRecord(tool) ? tool : {};
    if (typeof name !== 'string' || !TOOL_NAME.test(name)) {
      report('tool-name', at, `${at}.custom.name: String should match pattern '${TOOL_NAME.source}'`);
    } else if (names.has(name)) report('tool-name', at, 'tools: Tool names must be unique.');
    else names.add(name);
    if (!isRecord(schema)) report('tool-schema', at, `${at}.custom.input_schema: Field required`);
    else if (schema.type !== 'object') {
      report('tool-schema', at, `${at}.custom.input_schema.type: Input should be 'object'`);
    }
  }
}

function judgeThinking({ thinking, max_tokens: max, messages }: JsonRecord, report: Report): void {
  if (!isRecord(thinking) || thinking.type !== 'enabled') return;
  const { budget_tokens: budget } = thinking;
  if (typeof budget !== 'number' || budget < MIN_THINKING_BUDGET) {
    report('thinking-budget', 'thinking', 'thinking.enabled.budget_tokens: at least 1024');
  } else if (typeof max === 'number' && max <= budget) {
    report('thinking-budget', 'thinking', '`max_tokens` must be greater than `thinking.budget_tokens`');
  }
  const list = Array.isArray(messages) ? messages : [];
  const at = list.length - 2;
  const before: unknown = list[at];
  const first = isRecord(before) && Array.isArray(before.content) ? before.content[0] : undefined;
  const calls =
    isRecord(before) &&
    before.role === 'assistant' &&
    Array.isArray(before.content) &&
    before.content.some((block) => isRecord(block) && block.type === 'tool_use');
  if (!calls || !isRecord(first) || first.type === 'thinking' || first.type === 'redacted_thinking') return;
  report(
    'thinking-missing',
    `messages.${at}`,
    `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first.type)}\``,
  );
}

/** Counts cache breakpoints and reports those at forbidden positions. */
function judgeBreakpoints(body: JsonRecord, report: Report): void {
  let found = 0;
  const waiting: unknown[] = [body.system, body.tools, body.messages];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (Array.isArray(next)) for (const item of next) waiting.push(item);
    if (!isRecord(next)) continue;
    if (next.content !== undefined) waiting.push(next.content);
    if (next.cache_control === undefined || next.cache_control === null) continue;
    found++;
    const { cache_control: mark, type, text } = next;
    if (!isRecord(mark) || mark.type !== 'ephemeral')
      report('cache-control', 'cache_control', "cache_control.type: Input should be 'ephemeral'");
    if (type === 'thinking' || type === 'redacted_thinking')
      report('cache-control', 'cache_control', `cache_control cannot be set on ${type} blocks`);
    if (type === 'text' && typeof text === 'string' && isBlank(text))
      report('cache-control', 'cache_control', 'cache_control cannot be set for empty text blocks');
  }
  if (found > MAX_BREAKPOINTS) {
    const message = `A maximum of ${MAX_BREAKPOINTS} blocks with cache_control may be provided. Found ${found}.`;
    report('cache-control', 'cache_control', message);
  }
}
