import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { print } from '../terminal/print.ts';

/*
 * The scripts hold no command names: each calls `reprise __complete` with the words so far, which prints one candidate
 * per line, followed by a tab and a description. A session title is untrusted text: it is quoted for the shell and
 * never evaluated. In the text below `@{` stands for a dollar sign and a brace.
 */
const BASH = String.raw`# reprise: source <(reprise completion bash)
_reprise() {
  local line value quote i
  local words=() cword asked=()
  # Colons are part of session keys, so the words are cut at spaces again.
  if declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref -n : words cword
  else
    words=("@{COMP_WORDS[@]}") cword=$COMP_CWORD
  fi
  # Words come as they were typed. Quotes are taken off by hand: evaluating them would run what they hold.
  for ((i = 1; i <= cword; i++)); do
    value=@{words[i]}
    case $value in
      \"*) value=@{value#\"} value=@{value%\"} quote=double ;;
      \'*) value=@{value#\'} value=@{value%\'} quote=single ;;
      *) quote=none ;;
    esac
    [[ $quote == single ]] || value=@{value//\\/}
    asked+=("$value")
  done
  COMPREPLY=()
  while IFS= read -r line; do
    value=@{line%%$'\t'*}
    case $quote in
      single) [[ $value == *\'* ]] && continue ;;
      double) value=@{value//\\/\\\\} value=@{value//\"/\\\"} value=@{value//\$/\\\$} value=@{value//\`/\\\`} ;;
      *) printf -v value '%q' "$value" ;;
    esac
    COMPREPLY+=("$value")
  done < <("@{words[0]}" __complete -- "@{asked[@]}" 2>/dev/null)
  if declare -F __ltrim_colon_completions >/dev/null; then
    __ltrim_colon_completions "@{words[cword]}"
  fi
}
complete -o default -F _reprise reprise`;

const ZSH = String.raw`#compdef reprise
# reprise: reprise completion zsh > "$fpath[1]/_reprise"
_reprise() {
  local line
  local -a values shown
  while IFS= read -r line; do
    values+=("@{line%%$'\t'*}")
    shown+=("@{line/$'\t'/  -- }")
  done < <("@{words[1]}" __complete -- "@{(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( @{#values} )); then compadd -l -d shown -a values; else _files; fi
}
if [ "$funcstack[1]" = _reprise ]; then _reprise "$@"; else compdef _reprise reprise; fi`;

const FISH = `# reprise: reprise completion fish > ~/.config/fish/completions/reprise.fish
function __reprise_complete
  set -l words (commandline -opc)
  $words[1] __complete -- $words[2..-1] (commandline -ct | string unescape) 2>/dev/null
end
complete -c reprise -f -a '(__reprise_complete)'
complete -c reprise -n '__fish_seen_subcommand_from show import' -F`;

const SCRIPTS: ReadonlyMap<string, string> = new Map([
  ['bash', BASH],
  ['zsh', ZSH],
  ['fish', FISH],
]);

/** `reprise completion <shell>` */
export async function completion(shell: string): Promise<void> {
  const script = SCRIPTS.get(shell);
  if (script === undefined)
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'shell',
      value: quotedValue(shell),
      expected: [{ is: 'oneOf', values: [...SCRIPTS.keys()] }],
    });
  print(script.replaceAll('@{', '${'));
}
