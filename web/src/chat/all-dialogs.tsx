import type { JSX } from 'preact';
import { dialog } from '../stores/dialogs.ts';
import { conversation } from '../stores/open-conversations.ts';
import { CompactDialog } from './compact-dialog.tsx';
import { ExplainDialog } from './explain-dialog.tsx';
import { KeysDialog } from './keys-dialog.tsx';
import { RenameDialog } from './rename-dialog.tsx';
import { SearchDialog } from './search-dialog.tsx';
import { SettingsDialog } from './settings-dialog.tsx';
import { ToldDialog } from './told-dialog.tsx';
import { TreeDialog } from './tree-dialog.tsx';

/** Loaded with the first of them. */
export function AllDialogs(): JSX.Element | null {
  const open = dialog.value;
  const current = conversation.value;
  if (open === undefined) return null;
  if (open.kind === 'search') return <SearchDialog />;
  if (open.kind === 'keys') return <KeysDialog />;
  if (open.kind === 'settings') return <SettingsDialog />;
  if (open.kind === 'told') return <ToldDialog title={open.title} text={open.text} />;
  if (current === undefined) return null;
  if (open.kind === 'rename') return <RenameDialog conversation={current} />;
  if (open.kind === 'compact') return <CompactDialog conversation={current} />;
  if (open.kind === 'tree') return <TreeDialog conversation={current} />;
  if (open.kind === 'explain') return <ExplainDialog conversation={current} turnId={open.turnId} />;
  return null;
}
