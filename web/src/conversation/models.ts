import { signal } from '@preact/signals';
import type { ModelOffer } from 'reprise/client';
import { attempt, client } from '../api/api.ts';
import { agents, putSession } from '../sidebar/sessions.ts';
import type { Conversation } from './conversation.ts';

/** The models that the server offers. */
export const models = signal<readonly ModelOffer[]>([]);

/** Asked again whenever the list is opened, because local servers come and go. */
export async function loadModels(): Promise<void> {
  await attempt(async () => {
    models.value = (await client.value.models()).data;
  });
}

/** The model of the session, or that of its agent. */
export function modelOf({ history, agentId }: Conversation): string {
  const settings = history.view.value?.settings ?? {};
  const chosen = settings['model'] ?? settings['modelOverride'];
  if (typeof chosen === 'string') return chosen;
  return agents.value.find(({ id }) => id === agentId)?.model.replace('/', ':') ?? '';
}

/** Applies from the next message on. An empty name returns to the model of the agent. */
export async function chooseModel(conversation: Conversation, name: string): Promise<void> {
  await attempt(async () => {
    if (conversation.state.value === 'new') {
      // The command creates the session that it changes.
      const request = { message: `/model ${name === '' ? 'default' : name}`, sessionId: conversation.id };
      for await (const event of client.value.chat(conversation.agentId, request)) void event;
      await conversation.open();
      return;
    }
    const model = name === '' ? null : name;
    const { session } = await conversation.remote.patch({ model });
    conversation.history.setView(session);
    putSession(session);
    await conversation.refreshFacts();
  });
}
