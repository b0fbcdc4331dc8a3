import { openReprise } from 'reprise';

await using reprise = await openReprise({ home: process.argv[2] ?? './data', model: 'offline' });
const session = await reprise.session('agent:main:main'); // found, or created
for await (const event of session.send('My name is Ada.')) {
  if (event.type === 'text_delta') process.stdout.write(event.text);
}
const { text } = await session.send('What is my name?').result; // the whole answer, without the stream
console.log(`\n${text}`);
