/**
 * Finds the walks of Markdown pages: sections with `sh` blocks of commands and what they print. The
 * rules for authors stand in docs/CONTRIBUTING.md, under "Code blocks".
 */

/** A command of a walk. */
export interface WalkStep {
  /** Line of the page, from 1. */
  readonly line: number
  readonly command: string
  readonly exitCode: number
  /** Lines that the command prints; `…` stands for any text, and alone for any lines. */
  readonly prints: readonly string[]
}

/** The commands of one section. */
export interface Walk {
  readonly heading: string
  readonly steps: readonly WalkStep[]
}

/** The sections of a page that have commands, in order. */
export function extractWalks(markdown: string): Walk[] {
  const walks: { heading: string; steps: WalkStep[] }[] = []
  let inBlock = false
  for (const [at, text] of markdown.split('\n').entries()) {
    if (!inBlock && text.startsWith('## ')) walks.push({ heading: text.slice(3), steps: [] })
    const wasInBlock = inBlock
    if (text.startsWith('```')) inBlock = text === '```sh'
    if (!inBlock || !wasInBlock) continue
    const steps = walks.at(-1)?.steps
    if (steps === undefined) throw new Error(`line ${at + 1}: a block before the first heading`)
    const [, command, code] = /^\$ (.+?)(?: +# exit (\d+))?$/.exec(text) ?? []
    if (command !== undefined) {
      steps.push({ line: at + 1, command, exitCode: Number(code ?? 0), prints: [] })
      continue
    }
    const step = steps.at(-1)
    if (step === undefined) throw new Error(`line ${at + 1}: an output without a command`)
    ;(step.prints as string[]).push(text)
  }
  return walks.filter(({ steps }) => steps.length > 0)
}

/** Whether lines are as the page says. */
export function isAsPrinted(prints: readonly string[], output: string): boolean {
  const patterns = prints.map((text) => {
    if (text === '…') return '(?:.*\\n)*'
    const parts = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    return `${parts.join('.*')}\\n`
  })
  return new RegExp(`^${patterns.join('')}$`).test(output)
}
