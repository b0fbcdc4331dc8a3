import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import { formatRoute, type Route, route } from './route.ts';

/** What the page can show. */
export function Views(): JSX.Element {
  const { view } = route.value;
  const isChat = view === 'new' || view === 'session';
  return (
    <div class="views">
      <View to={{ view: 'new' }} icon="send" label={t('chat')} isHere={isChat} />
      <View to={{ view: 'chats' }} icon="chats" label={t('chats')} isHere={view === 'chats'} />
      <View to={{ view: 'stats' }} icon="stats" label={t('stats')} isHere={view === 'stats'} />
    </div>
  );
}

interface ViewProps {
  readonly to: Route;
  readonly icon: IconName;
  readonly label: string;
  readonly isHere: boolean;
}

function View({ to, icon, label, isHere }: ViewProps): JSX.Element {
  return (
    <a class={isHere ? 'here' : undefined} href={formatRoute(to)} aria-current={isHere ? 'true' : undefined}>
      <Icon name={icon} />
      {label}
    </a>
  );
}
