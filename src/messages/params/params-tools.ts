import type { None } from '../params.ts';

/** The rule that a tool of a program broke. */
export type ToolRule = 'nameForm' | 'nameTaken' | 'run' | 'description' | 'inputSchema';

/** Why a file tool cannot use a path. */
export type PathProblem =
  | 'missing'
  | 'notFolder'
  | 'isFolder'
  | 'notFile'
  | 'brokenLink'
  | 'tooManyLinks'
  | 'noAccess'
  | 'nameTooLong'
  | 'outside'
  | 'moved'
  | 'hasNul'
  | 'notText';

/** Messages about tools and what they refuse. A model reads their English text as the result of its call. */
export interface ToolMessages {
  /** Null `tool`: its name is wrong. Null `value`: it is missing; else in quotes, see `quotedValue`. */
  'tool.definition': {
    readonly field: string;
    readonly tool: string | null;
    readonly value: string | null;
    readonly rule: ToolRule;
  };
  'tool.unknown': { readonly name: string };
  /** `text`: what the model sent. */
  'tool.badArguments': { readonly text: string };
  'tool.slow': { readonly seconds: number };
  'tool.stopped': None;
  'tool.skipped': None;
  'tool.badOutput': None;
  /** `issues`: in the words of the schema, such as "city: expected string". */
  'tool.badInput': { readonly tool: string; readonly issues: readonly string[] };
  'tool.badImage': None;
  'tool.notJson': { readonly reason: string };
  'tool.tooMuchOutput': { readonly limit: 'blocks' | 'images'; readonly max: number };
  'tool.noJsonSchema': { readonly tool: string; readonly vendor: string };
  'tool.listFailed': { readonly reason: string };
  'tool.listSlow': { readonly seconds: number };
  'mcp.noPackage': { readonly name: string };
  'tool.ownSession': None;
  'tool.sessionName': None;
  'tool.sameLabel': { readonly keys: readonly string[] };
  'tool.waitsForParent': None;
  'tool.waitsForItself': None;
  'spawn.tooDeep': { readonly max: number };
  'spawn.tooMany': { readonly max: number };
  'spawn.otherAgent': None;
  'spawn.trashed': None;
  'spawn.unknownModel': { readonly model: string };
  /** The path is given in quotes, see `quotedValue`. */
  'workspace.badPath': { readonly path: string; readonly problem: PathProblem };
  'workspace.tooLarge': { readonly path: string; readonly bytes: number; readonly max: number };
  'workspace.noText': { readonly path: string };
  'workspace.repeatedText': { readonly path: string };
}
