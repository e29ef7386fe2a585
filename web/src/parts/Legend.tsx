import { GROUPS, GROUP_WORDS } from "../draw/palette";

/** What colours mean. */
export function Legend() {
  return (
    <div class="legend">
      {GROUPS.map((group) => (
        <span key={group}><span class={`mark g-${group}`} aria-hidden="true" />{GROUP_WORDS[group]}</span>
      ))}
    </div>
  );
}
