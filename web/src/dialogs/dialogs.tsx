import type { JSX } from 'preact';
import { dialog } from '../shell/dialogs.ts';
import { AnswerDialog } from './answer-dialog.tsx';
import { CompactDialog } from './compact-dialog.tsx';
import { ExplainDialog } from './explain-dialog.tsx';
import { HelpDialog } from './help-dialog.tsx';
import { KeysDialog } from './keys-dialog.tsx';
import { RenameDialog } from './rename-dialog.tsx';
import { SearchDialog } from './search-dialog.tsx';
import { SettingsDialog } from './settings-dialog.tsx';
import { TreeDialog } from './tree-dialog.tsx';

export function Dialogs(): JSX.Element | null {
  const open = dialog.value;
  if (open === undefined) return null;
  switch (open.kind) {
    case 'search':
      return <SearchDialog begin={open.text} />;
    case 'keys':
      return <KeysDialog />;
    case 'help':
      return <HelpDialog />;
    case 'settings':
      return <SettingsDialog />;
    case 'answer':
      return <AnswerDialog title={open.title} answer={open.answer} />;
    case 'rename':
      return <RenameDialog conversation={open.conversation} />;
    case 'compact':
      return <CompactDialog conversation={open.conversation} />;
    case 'tree':
      return <TreeDialog conversation={open.conversation} />;
    case 'explain':
      return <ExplainDialog conversation={open.conversation} turnId={open.turnId} />;
  }
}
