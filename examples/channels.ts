import { openReprise } from 'reprise';

// One engine, many senders: the channel and chat of a message determine its conversation.
await using reprise = await openReprise({
  home: process.argv[2] ?? './data',
  model: 'offline',
  // On channels only the owner changes settings, unless a command is allowed to every sender.
  session: { senderCommands: ['queue'] },
});
const from = (name: string) => ({ channel: 'telegram', peer: name, sender: { id: name } });

// When `receive` resolves the message is stored, and its turn runs in the background. A second delivery is ignored.
const ada = await reprise.receive({ ...from('ada'), messageId: '1', text: 'My name is Ada.' });
const again = await reprise.receive({ ...from('ada'), messageId: '1', text: 'My name is Ada.' });
const bob = await reprise.receive({ ...from('bob'), messageId: '1', text: 'What is my name?' });
console.log(again.fresh, ada.sessionId === bob.sessionId);
await reprise.idle();

for (const { inboxId } of [ada, bob]) {
  const { status, reply } = await reprise.inbox(inboxId);
  console.log(status, reply?.text.split('\n')[0]);
}
const command = await reprise.receive({ ...from('ada'), text: '/queue collect' });
console.log(command.command?.text);
const { text } = await reprise.follow(
  (await reprise.receive({ ...from('ada'), text: 'What is my name?' })).inboxId,
).result;
console.log(text);

// The channel logs: all messages of each chat, for the owner.
for (const { channelId, messages, lastText } of (await reprise.convlog.list()).chats)
  console.log(channelId, messages, lastText);
