/**
 * Progress on the terminal, on standard error so that the results can be redirected: a bar where
 * somebody watches, else a line a step.
 */
import { Presets, SingleBar } from 'cli-progress'

/** Told by the suites what they are doing. */
export interface Progress {
  /** So many more steps will come. */
  expect(steps: number): void
  /** A step begins. */
  begin(step: string): void
  /** A part of the step begins. */
  detail(part: string): void
  /** The step that began last is done. */
  end(): void
  /** A line that stays. */
  note(line: string): void
  /** Takes the bar away. */
  close(): void
}

/** What is written to. */
export interface ProgressOutput {
  readonly isTTY?: boolean
  write(text: string): unknown
}

class BarProgress implements Progress {
  readonly #output: ProgressOutput
  readonly #bar: SingleBar
  #total = 0
  #done = 0
  #step = ''
  #isStarted = false

  constructor(output: ProgressOutput & NodeJS.WritableStream) {
    this.#output = output
    const format = '{bar} {value}/{total} {step}'
    this.#bar = new SingleBar(
      { format, hideCursor: true, stream: output, clearOnComplete: true, barsize: 24 },
      Presets.shades_classic,
    )
  }

  expect(steps: number): void {
    this.#total += steps
    if (this.#isStarted) this.#bar.setTotal(this.#total)
  }

  begin(step: string): void {
    this.#step = step
    if (!this.#isStarted) this.#bar.start(this.#total, this.#done, { step })
    else this.#bar.update(this.#done, { step })
    this.#isStarted = true
  }

  detail(part: string): void {
    this.#bar.update({ step: `${this.#step}: ${part}` })
  }

  end(): void {
    this.#done++
    if (this.#isStarted) this.#bar.update(this.#done)
  }

  note(line: string): void {
    this.close()
    this.#output.write(`${line}\n`)
  }

  close(): void {
    if (this.#isStarted) this.#bar.stop()
    this.#isStarted = false
  }
}

class LineProgress implements Progress {
  readonly #output: ProgressOutput
  #total = 0
  #begun = 0

  constructor(output: ProgressOutput) {
    this.#output = output
  }

  expect(steps: number): void {
    this.#total += steps
  }

  begin(step: string): void {
    this.#begun++
    this.#output.write(`${this.#begun}/${this.#total} ${step}\n`)
  }

  detail(part: string): void {
    this.#output.write(`  ${part}\n`)
  }

  end(): void {
    // The next line tells.
  }

  note(line: string): void {
    this.#output.write(`${line}\n`)
  }

  close(): void {
    // Nothing to take away.
  }
}

/** Progress on a stream; a bar if it is a terminal. */
export function showProgress(output: ProgressOutput & NodeJS.WritableStream): Progress {
  return output.isTTY === true ? new BarProgress(output) : new LineProgress(output)
}

/** Progress that nobody sees. */
export const silentProgress: Progress = {
  expect: () => undefined,
  begin: () => undefined,
  detail: () => undefined,
  end: () => undefined,
  note: () => undefined,
  close: () => undefined,
}
