/** The environment of a program under test, without what the person who runs the tests has set for themselves. */
export function cliEnv(own: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:REPRISE_|ANTHROPIC_|OPENAI_|XDG_|FORCE_COLOR$|NO_COLOR$)/.test(name),
  );
  return { ...Object.fromEntries(kept), XDG_CONFIG_HOME: '/nonexistent', ...own };
}
