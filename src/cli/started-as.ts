/** A test compares them with the commands there are. */
const NAMES =
  'chat|serve|token|ls|search|show|tail|explain|stats|rename|fork|compact|undo|redo|stop|rm|restore|purge|prune|verify|repair|locks|doctor|path|demo|completion|migrate|backup|config|export|import|resume|mcp';
const COMMAND = new RegExp(`\\breprise (?=-|(?:${NAMES})\\b)`, 'g');

/** How this process was started, as a person types it: in a clone there is no `reprise` on the PATH. */
function startedAs(env: NodeJS.ProcessEnv = process.env): string {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = env;
  if (event === 'start' && script.includes('bin/reprise.cjs')) return 'npm start --';
  return event === 'npx' && /^reprise\b/.test(script) ? 'npx reprise' : 'reprise';
}

/** A text for a person with its commands written so that they work here as printed. */
export function asStarted(text: string, env: NodeJS.ProcessEnv = process.env): string {
  const prefix = startedAs(env);
  // Alone it is the chat.
  return text.replace(COMMAND, `${prefix} `).replace('"reprise"', `"${prefix.replace(/ --$/, '')}"`);
}

/** The variables by which other tools move their folders. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
