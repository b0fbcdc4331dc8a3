import { byteCount } from '../english-format.ts';
import { expectedText } from '../expected-text.ts';
import type { MessageTable } from '../message.ts';
import type { JsonProblem, SettingMessages } from '../params/params-settings.ts';

const JSON_PROBLEMS: Readonly<Record<JsonProblem, string>> = {
  expectedEnd: 'expected the end of the file',
  expectedValue: 'expected a value',
  expectedName: 'expected a name in double quotes',
  expectedColon: 'expected ":"',
  expectedCommaOrBrace: 'expected "," or "}"',
  expectedCommaOrBracket: 'expected "," or "]"',
  tooDeep: 'too many levels of nesting',
  forbiddenName: 'no setting can have the name',
  repeatedName: 'a name occurs twice:',
};

export const ENGLISH_SETTINGS: Pick<MessageTable, keyof SettingMessages> = {
  'value.wrong': ({ field, value, expected, ...at }) => [
    `${field} ${value === null ? 'is missing' : `cannot be ${value}`}${inFile(at)}: it must be ${expectedText(expected)}`,
    at.origin === undefined ? `Set ${field} to ${expectedText(expected)}.` : correct(field, at.origin),
  ],
  'value.unknownName': ({ field, name, suggestion, known, ...at }) => {
    // Without an origin, the field is the name of an object in a program.
    if (at.origin === undefined) {
      const next =
        suggestion === null ? `Its names are ${known.join(', ')}.` : `Did you mean "${suggestion}"?`;
      return [`${field} has no "${name}"`, next];
    }
    const prefix = field === '' ? '' : `${field}.`;
    const names = `${field === '' ? 'The names' : `The names in ${field}`} are ${known.join(', ')}.`;
    return [
      `there is no setting "${prefix}${name}"${inFile(at)}`,
      suggestion === null ? names : `Did you mean "${prefix}${suggestion}"?`,
    ];
  },
  'setting.unknown': ({ name, suggestion }) => [
    `sessions have no setting ${name}`,
    suggestion === null
      ? 'Check the name. To store a value of your own, use a name that starts with "x-".'
      : `Did you mean "${suggestion}"?`,
  ],
  'setting.protected': ({ name }) => [
    `${name} cannot be set`,
    'The engine sets it, and no caller can change it. Leave it out.',
  ],
  'setting.fileToolsFolder': ({ field, ...at }) => [
    `${field} cannot be true${inFile(at)}: file tools need a folder`,
    'Set a home, or a workspace for this agent.',
  ],
  'setting.workspaceInHome': ({ field, workspace, home, ...at }) => [
    `${field} cannot be ${workspace}${inFile(at)}: file tools could change the data in the home ${home}`,
    'Choose a folder outside of the home.',
  ],
  'setting.badAgentId': ({ id, suggestion, ...at }) => [
    `${id}${inFile(at)} is not a valid agent id`,
    `Use 1 to 64 of a-z 0-9 _ - that do not start with a hyphen, such as "${suggestion}".`,
  ],
  'setting.empty': ({ origin }) => [`${origin} cannot be empty`, `Give ${origin} a value, or leave it out.`],
  'setting.temporarySessions': () => [
    'the settings say that sessions are not saved, but this store saves them',
    'Use the store "memory", or remove session.enabled: false and a profile that does not save sessions.',
  ],
  'config.badFile': ({ file, problem, errno, maxBytes = 0 }) => {
    const problems: Readonly<Record<typeof problem, string>> = {
      unreadable: `cannot be read${errno === undefined ? '' : ` (${errno})`}`,
      notAFile: 'is not a file',
      tooLarge: `is larger than ${byteCount(maxBytes)}`,
      notText: 'is not UTF-8 text',
      notAnObject: 'is not an object of settings',
    };
    const next =
      problem === 'notAnObject'
        ? 'A file of settings begins with { and ends with }.'
        : `Correct or remove ${file}.`;
    return [`${file} ${problems[problem]}`, next];
  },
  'config.badJson': ({ file, line, column, problem, name, atEnd }) => [
    `${file} line ${line} column ${column}: ${JSON_PROBLEMS[problem]}${name === undefined ? '' : ` ${name}`}${atEnd ? ', but the file ends here' : ''}`,
    `Correct ${file}.`,
  ],
  'config.badToolModule': ({ path, reason }) => [
    reason === null
      ? `the module ${path} has no default export`
      : `the module ${path} could not be loaded: ${reason}`,
    'Export a tool, a list of tools, or a function that returns the list for a session.',
  ],
  'config.badTrustFile': ({ file }) => [
    `the list of trusted files cannot be read: ${file}`,
    `Correct ${file}, or remove it and run "reprise config trust" in each trusted folder.`,
  ],
  'profile.unknown': ({ profile, known }) => [
    `there is no profile ${profile}`,
    `Use one of: ${known.join(', ')}.`,
  ],
  'node.tooOld': ({ version, min }) => [
    `reprise needs Node.js ${min} or newer; this is ${version}`,
    'Install a newer version: https://nodejs.org',
  ],
  'store.otherKind': ({ home, found, kind }) => [
    `${home} contains a ${found} store and no ${kind} store`,
    `Leave out the kind (--store, REPRISE_STORE, store.kind), choose another home, or copy the store: reprise migrate --from ${found}:${home} --to ${kind}:${home}`,
  ],
  'store.noHome': () => ['a store with files needs a home folder', 'Pass "home".'],
  'store.noUrl': () => [
    'a postgres store needs the address of its database',
    'Pass "url", or set REPRISE_STORE_URL: postgres://user:password@host:5432/database',
  ],
  'instructions.unreadable': ({ file }) => [
    `the instructions of the agent cannot be read: ${file}`,
    'Make the file readable for this user, or remove it.',
  ],
};

function inFile({ origin, line }: { readonly origin?: string; readonly line?: number }): string {
  if (origin === undefined) return '';
  return ` in ${origin}${line === undefined ? '' : ` line ${line}`}`;
}

function correct(field: string, origin: string): string {
  return `Correct "${field}" in ${origin}.`;
}
