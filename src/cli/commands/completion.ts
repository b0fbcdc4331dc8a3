import { RepriseError } from '../../errors.ts';
import { print } from '../print.ts';

/**
 * The scripts know nothing: each asks `reprise __complete` with the words so far, which prints one candidate a line,
 * and behind a tab what it is. Candidates are quoted by the shell, never evaluated: a title is what somebody wrote.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# reprise: source <(reprise completion bash)
_reprise() {
  local IFS=$'\\n' line
  COMPREPLY=()
  # Colons are part of session keys, so the words are cut at spaces again.
  local words=() cword
  if declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref -n : words cword
  else
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
  fi
  while read -r line; do
    COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done < <("\${words[0]}" __complete -- "\${words[@]:1:cword}" 2>/dev/null)
  if declare -F __ltrim_colon_completions >/dev/null; then
    __ltrim_colon_completions "\${words[cword]}"
  fi
}
complete -o default -F _reprise reprise`,
  zsh: `#compdef reprise
# reprise: reprise completion zsh > "$fpath[1]/_reprise"
_reprise() {
  local line
  local -a values shown
  while IFS= read -r line; do
    values+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#values} )) && compadd -l -d shown -a values || _files
}
if [ "$funcstack[1]" = _reprise ]; then _reprise "$@"; else compdef _reprise reprise; fi`,
  fish: `# reprise: reprise completion fish > ~/.config/fish/completions/reprise.fish
function __reprise_complete
  set -l words (commandline -opc)
  command $words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c reprise -f -a '(__reprise_complete)'
complete -c reprise -n '__fish_seen_subcommand_from show import' -F`,
};

/** `reprise completion <shell>` */
export async function completion(shell: string): Promise<void> {
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined)
    throw new RepriseError('INVALID_INPUT', `no completion for the shell "${shell}"`, {
      details: { next: `Use one of: ${Object.keys(SCRIPTS).join(', ')}.` },
    });
  print(script);
}
