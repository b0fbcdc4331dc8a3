import type { None } from '../params.ts';

/** What a value must be. */
export type Expected =
  | {
      readonly is:
        | 'text'
        | 'nonEmptyText'
        | 'boolean'
        | 'url'
        | 'duration'
        | 'model'
        | 'time'
        | 'isoTime'
        | 'utcTime'
        | 'timeZone'
        | 'word'
        | 'folder';
    }
  /** Bounds are inclusive; `above` is exclusive. */
  | {
      readonly is: 'integer' | 'number';
      readonly min?: number;
      readonly max?: number;
      readonly above?: number;
    }
  | { readonly is: 'shortText'; readonly max: number }
  | { readonly is: 'oneOf'; readonly values: readonly string[] }
  | { readonly is: 'list'; readonly of: readonly Expected[] }
  /** Without names: any. */
  | { readonly is: 'object'; readonly names: readonly string[] }
  | { readonly is: 'record'; readonly of: readonly Expected[] }
  | { readonly is: 'other' };

/** Where a setting was read: a file, a variable or a flag. Unset: it was given to the library or the server. */
interface At {
  readonly origin?: string;
  readonly line?: number;
}

/** Messages about values that people write: settings, configuration files, and fields of requests. */
export interface SettingMessages {
  /** A null `value`: it is missing. Else it is given in quotes, see `quotedValue`. `expected`: one of these. */
  'value.wrong': At & {
    readonly field: string;
    readonly value: string | null;
    readonly expected: readonly Expected[];
  };
  /** `field` is empty for the names at the top. A null `suggestion`: no known name is similar. */
  'value.unknownName': At & {
    readonly field: string;
    readonly name: string;
    readonly suggestion: string | null;
    readonly known: readonly string[];
  };
  'setting.unknown': { readonly name: string; readonly suggestion: string | null };
  'setting.protected': { readonly name: string };
  'setting.fileToolsFolder': At & { readonly field: string };
  'setting.workspaceInHome': At & {
    readonly field: string;
    readonly workspace: string;
    readonly home: string;
  };
  'setting.badAgentId': At & { readonly field: string; readonly id: string; readonly suggestion: string };
  'setting.empty': { readonly origin: string };
  'setting.temporarySessions': None;
  'config.badFile': {
    readonly file: string;
    readonly problem: 'unreadable' | 'notAFile' | 'tooLarge' | 'notText' | 'notAnObject';
    /** Of the operating system, such as EACCES. */
    readonly errno?: string;
    readonly maxBytes?: number;
  };
  'config.badJson': {
    readonly file: string;
    readonly line: number;
    readonly column: number;
    readonly problem: JsonProblem;
    /** The name that is forbidden or repeated, in quotes. */
    readonly name?: string;
    /** The file ends at this place. */
    readonly atEnd: boolean;
  };
  /** Null `reason`: the module has no default export; else why it could not be loaded. */
  'config.badToolModule': { readonly path: string; readonly reason: string | null };
  'config.badTrustFile': { readonly file: string };
  'profile.unknown': { readonly profile: string; readonly known: readonly string[] };
  'node.tooOld': { readonly version: string; readonly min: number };
  'store.otherKind': { readonly home: string; readonly found: string; readonly kind: string };
  'store.noHome': None;
  'store.noUrl': None;
  'instructions.unreadable': { readonly file: string };
}

export type JsonProblem =
  | 'expectedEnd'
  | 'expectedValue'
  | 'expectedName'
  | 'expectedColon'
  | 'expectedCommaOrBrace'
  | 'expectedCommaOrBracket'
  | 'tooDeep'
  | 'forbiddenName'
  | 'repeatedName';
