import type { JSX } from 'preact';
import type { ModelOffer } from 'reprise/client';
import type { Conversation } from '../conversation/conversation.ts';
import { chooseModel, loadModels, modelOf, models } from '../conversation/models.ts';
import { chooseAgent } from '../conversation/open-conversations.ts';
import { modelName, shortCount } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { agents } from '../sidebar/sessions.ts';
import { Menu, type MenuEntry } from '../ui/menu.tsx';

/** Which model and agent answer, with a choice of others. */
export function ModelPicker({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const current = modelOf(conversation);
  const isNew = conversation.state.value === 'new';
  const entries = (): MenuEntry[] => [
    ...models.value.map(
      (offer): MenuEntry => ({
        label: offer.name === 'offline' ? t('demoModel') : offer.name,
        icon: 'blank',
        note: facts(offer),
        isChosen: isSame(offer.name, current),
        run: () => void chooseModel(conversation, offer.name),
      }),
    ),
    { label: t('defaultModel'), icon: 'undo', run: () => void chooseModel(conversation, '') },
  ];
  return (
    <span class="pickers">
      {isNew && agents.value.length > 1 && (
        <Menu
          label={t('agent')}
          text={conversation.agentId}
          entries={() =>
            agents.value.map(({ id, model }) => ({
              label: id,
              icon: 'blank',
              note: modelName(model),
              isChosen: id === conversation.agentId,
              run: () => chooseAgent(id),
            }))
          }
        />
      )}
      {current !== '' && (
        <Menu
          label={t('model')}
          text={isSame('offline', current) ? t('demoModel') : modelName(current)}
          entries={entries}
          onOpen={() => void loadModels()}
        />
      )}
    </span>
  );
}

/** `offline:offline` and `offline` are one model. */
function isSame(name: string, current: string): boolean {
  return name === current || `${name}:${name}` === current;
}

function facts({ contextWindow, cost }: ModelOffer): string {
  return [
    contextWindow === null ? '' : `${shortCount(contextWindow)} ${t('tokens')}`,
    cost === null ? '' : t('priceOf', `$${cost.input}`, `$${cost.output}`),
  ]
    .filter((fact) => fact !== '')
    .join(' · ');
}
