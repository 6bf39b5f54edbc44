/** One line of progress on a terminal; nothing if the standard error is none. */

const millisecondsBetween = 100
const barCharacters = 24

/** The progress of one verb; see the file header. */
export class Progress {
  private readonly label: string
  private readonly stream: NodeJS.WriteStream
  private shownAt = -Infinity
  private isShown = false

  constructor(label: string, stream: NodeJS.WriteStream = process.stderr) {
    this.label = label
    this.stream = stream
  }

  /** Shows a text in place of the last one; ten times a second at most. */
  show(text: () => string): void {
    if (!this.stream.isTTY) return
    const now = performance.now()
    if (now - this.shownAt < millisecondsBetween) return
    this.shownAt = now
    this.isShown = true
    this.stream.write(`\r\u001b[K${this.label}: ${text()}`)
  }

  /** Shows a part of the work, 0 to 1, as a bar. */
  readonly part = (part: number): void => {
    const done = Math.floor(part * barCharacters)
    const bar = '█'.repeat(done) + '░'.repeat(barCharacters - done)
    this.show(() => `${bar} ${Math.floor(part * 100)} %`)
  }

  end(): void {
    if (this.isShown) this.stream.write('\r\u001b[K')
    this.isShown = false
  }
}
