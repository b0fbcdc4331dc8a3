import type { None } from '../params.ts';

/** Messages of the command line: its arguments, its home, and what it needs a terminal for. */
export interface CliMessages {
  'cli.exclusive': { readonly options: readonly string[] };
  'cli.noAgent': { readonly agent: string; readonly suggestion: string | null };
  'cli.noMessagesYet': None;
  /** An option that is for a home, given together with --url. */
  'cli.serverDecides': { readonly option: 'ephemeral' | 'model' | 'profile' | 'store' | 'system' };
  'cli.serverFormat': { readonly format: string };
  'cli.homeOnly': { readonly option: string };
  'cli.needsHome': { readonly url: string };
  'cli.fileRefused': { readonly file: string; readonly reason: 'size' | 'type'; readonly maxBytes: number };
  'cli.noPrompt': { readonly options: readonly string[] };
  'cli.noSessions': None;
  'cli.noMatch': { readonly query: string };
  'cli.noRef': None;
  'cli.needsYes': None;
  'cli.importWhat': None;
  'cli.importAllPath': { readonly path: string };
  'cli.importTool': { readonly tool: string; readonly known: readonly string[] };
  'cli.noProgram': { readonly program: string };
  'cli.cancelled': None;
  /** `servers`: addresses of the running servers of the home. */
  'cli.noToken': { readonly url: string; readonly home: string; readonly servers: readonly string[] };
  'cli.tokenNotInFile': { readonly name: string };
  'cli.memoryHome': None;
  /** `origin`: the flag or variable that names the home; null: it is the default. `path`: quoted for a shell. */
  'cli.homeForbidden': {
    readonly home: string;
    readonly origin: string | null;
    readonly reason: string;
    readonly path: string;
  };
  'cli.noHome': { readonly home: string; readonly origin: string | null };
  'cli.homeNotEmpty': { readonly home: string };
  'cli.badStore': { readonly store: string };
  'cli.passwordShown': None;
  'cli.noFolder': { readonly folder: string; readonly reason: string };
  /** `isRemote`: read through a server, which shows the current branch only. */
  'cli.noEntryAt': { readonly at: string; readonly isRemote: boolean };
  'cli.backupWord': { readonly word: string };
  'cli.noLabel': None;
  'cli.noSearchText': None;
  'cli.noTranscriptFile': { readonly id: string };
  'cli.noFile': { readonly file: string };
  'cli.notTranscript': { readonly file: string };
  'cli.unreadableFile': { readonly file: string; readonly reason: string; readonly isFolder: boolean };
  'cli.noProjectFile': { readonly name: string; readonly file: string };
  'cli.noPruneRules': None;
  'cli.exportWhat': None;
  'cli.exportFolder': None;
  'cli.noTarget': None;
  'cli.sameStore': { readonly store: string };
  'cli.noStore': { readonly store: string };
}
