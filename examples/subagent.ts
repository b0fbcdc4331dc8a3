import { openReprise } from 'reprise';

await using reprise = await openReprise({
  store: 'memory',
  agents: { defaults: { subagents: { maxChildren: 3 } } },
});
const parent = await reprise.session('agent:main:main');
// The model can do the same with the tool `sessions_spawn`.
const { status, childSessionKey } = await reprise.spawn(parent, {
  task: 'Count to three.',
  label: 'counter',
  cleanup: 'delete',
});
console.log(status, childSessionKey?.startsWith('agent:main:subagent:'));

// The child runs in the background; its result arrives as a message that the parent answers.
await reprise.idle();
for (const { runId, label, status: how, result } of await reprise.runs(parent.id))
  console.log(label, how, result, runId.length);
const { entries } = await parent.history();
for (const { entry } of entries)
  if (entry.type === 'custom_message') console.log(String(entry['content']).split('\n')[0]?.slice(0, 23));
