import { byteCount, count, secondCount } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { PathProblem, ToolMessages, ToolRule } from '../params/params-tools.ts';

const RULES: Readonly<Record<ToolRule, string>> = {
  nameForm: 'use 1 to 64 letters, digits, "_" and "-"',
  nameTaken: 'another tool in the list has this name',
  run: 'it must be the function that runs the tool',
  description: 'it must be text that tells the model what the tool does',
  inputSchema: 'it must be a JSON Schema of type "object"',
};

const PATHS: Readonly<Record<PathProblem, string>> = {
  missing: 'does not exist',
  notFolder: 'is not a folder, or a part of the path is a file',
  isFolder: 'is a folder',
  notFile: 'is not a regular file',
  brokenLink: 'is a link that leads nowhere',
  tooManyLinks: 'leads through too many links',
  noAccess: 'cannot be accessed: permission denied',
  nameTooLong: 'has a name that is too long',
  outside: 'is outside the workspace',
  moved: 'was moved or replaced while the tool used it',
  hasNul: 'contains a NUL character',
  notText: 'is not UTF-8 text',
};

export const ENGLISH_TOOLS: Pick<MessageTable, keyof ToolMessages> = {
  'tool.definition': ({ field, tool, value, rule }) => [
    `${field}${tool === null ? '' : ` of the tool "${tool}"`} ${value === null ? 'is missing' : `cannot be ${value}`}: ${RULES[rule]}`,
    'Correct the tool in the list that the program passes as "tools".',
  ],
  'tool.unknown': ({ name }) => [`there is no tool named ${name}`],
  'tool.badArguments': ({ text }) => [`the arguments are not a JSON object: ${text}`],
  'tool.slow': ({ seconds }) => [`the tool timed out after ${secondCount(seconds)}`],
  'tool.stopped': () => ['the tool was stopped before it finished'],
  'tool.skipped': () => 'Skipped for a new message: this call was not run.',
  'tool.badOutput': () => ['the tool returned a block that is neither text nor an image'],
  'mcp.noPackage': ({ name }) => [
    `the MCP server needs the package ${name}, which is not installed`,
    `Install it beside Reprise: npm install ${name}`,
  ],
  'tool.badInput': ({ tool, issues }) => [
    `the arguments do not fit the input of ${tool}: ${issues.join('; ')}`,
    'Correct the arguments and call the tool again.',
  ],
  'tool.badImage': () => ['the tool returned an image that is not base64 data with an image type'],
  'tool.notJson': ({ reason }) => [`the tool returned a value that JSON cannot hold: ${reason}`],
  'tool.tooMuchOutput': ({ limit, max }) => [
    limit === 'blocks'
      ? `the tool returned more than ${count(max)} blocks`
      : `the images that the tool returned are larger than ${byteCount(max)} in base64`,
  ],
  'tool.noJsonSchema': ({ tool, vendor }) => [
    `the input of the tool "${tool}" is a ${vendor} schema that cannot be described as JSON Schema`,
    'Add "inputSchema" with the JSON Schema that the model should read.',
  ],
  'tool.listFailed': ({ reason }) => [
    `the function "tools" failed: ${reason}`,
    'Correct the function that the program passes as "tools".',
  ],
  'tool.listSlow': ({ seconds }) => [
    `the function "tools" did not return within ${secondCount(seconds)}`,
    'Correct the function that the program passes as "tools".',
  ],
  'tool.ownSession': () => ['this is your own session; name another one'],
  'tool.sessionName': () => ['name the session by its sessionKey or by its label, not by both'],
  'tool.sameLabel': ({ keys }) => [
    `several sessions have this label; name one by its sessionKey: ${keys.join(', ')}`,
  ],
  'tool.waitsForParent': () => [
    'you cannot wait for this session, because it waits for your task; send without timeoutSeconds instead',
  ],
  'tool.waitsForItself': () => [
    'you cannot wait for this session, because it waits for you; send without timeoutSeconds instead',
  ],
  'spawn.tooDeep': ({ max }) => [
    `subagents can be nested ${count(max)} deep, and this session has reached that depth`,
    'Do the task here, or raise maxDepth of the agent.',
  ],
  'spawn.tooMany': ({ max }) => [
    `at most ${count(max)} subagents of a session run at the same time`,
    'Wait until one of them is done, or raise maxChildren of the agent.',
  ],
  'spawn.otherAgent': () => [
    'this agent is not allowed to use that agent',
    'Leave agentId out, or add that agent to allowAgents.',
  ],
  'spawn.unknownModel': ({ model }) => [
    `the model ${model} is not known, so the default model is used`,
    'Choose a model that is configured.',
  ],
  'spawn.trashed': () => ['the session is in the trash', 'Restore it first.'],
  'workspace.badPath': ({ path, problem }) => [`${path} ${PATHS[problem]}`],
  'workspace.tooLarge': ({ path, bytes, max }) => [
    `${path} has ${byteCount(bytes)}; at most ${byteCount(max)} can be read`,
  ],
  'workspace.noText': ({ path }) => [`old_string does not occur in ${path}; it must occur exactly once`],
  'workspace.repeatedText': ({ path }) => [
    `old_string occurs more than once in ${path}; it must occur exactly once`,
  ],
};
