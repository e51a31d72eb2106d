/** Which part of the scene is seen, and how large: screen = scene × k + (x, y). */

export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const [SMALLEST, LARGEST] = [0.005, 3];

export class Camera {
  k = 1;
  x = 0;
  y = 0;
  width = 800;
  height = 480;
  /** How large the scene is: what is centred leaves no room empty beside it that the rest could fill. */
  scene = { width: 0, height: 0 };

  constructor(private readonly changed: () => void) {}

  get seen(): Rect {
    return {
      left: -this.x / this.k,
      top: -this.y / this.k,
      right: (this.width - this.x) / this.k,
      bottom: (this.height - this.y) / this.k,
    };
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.changed();
  }

  /** The point at (x, y) on the screen stays where it is. */
  zoom(factor: number, x = this.width / 2, y = this.height / 2): void {
    const k = Math.min(Math.max(this.k * factor, SMALLEST), LARGEST);
    this.x = x - ((x - this.x) * k) / this.k;
    this.y = y - ((y - this.y) * k) / this.k;
    this.k = k;
    this.changed();
  }

  /** All of a rectangle, at most at 1:1. */
  show(rect: Rect, smallest = SMALLEST): void {
    const [w, h] = [rect.right - rect.left, rect.bottom - rect.top];
    this.k = Math.max(Math.min(this.width / w, this.height / h, 1), smallest);
    this.x = begin(rect.left, rect.right, this.k, this.width);
    this.y = begin(rect.top, rect.bottom, this.k, this.height);
    this.changed();
  }

  centre(x: number, y: number, k = this.k): void {
    this.k = k;
    this.x = filled(this.width / 2 - x * k, this.width, this.scene.width * k);
    this.y = filled(this.height / 2 - y * k, this.height, this.scene.height * k);
    this.changed();
  }
}

/** In the middle of its room; what does not fit begins at its beginning. */
function begin(low: number, high: number, k: number, room: number): number {
  return (high - low) * k > room ? -low * k : (room - (low + high) * k) / 2;
}

/** Where a picture begins that is larger than its room: neither its beginning nor its end stands within. */
function filled(start: number, room: number, size: number): number {
  return size > room ? Math.min(Math.max(start, room - size), 0) : start;
}

export function overlap(a: Rect, b: Rect): boolean {
  return a.left <= b.right && a.right >= b.left && a.top <= b.bottom && a.bottom >= b.top;
}
