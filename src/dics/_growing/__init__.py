"""Growing of trees and forests around the call of the core."""
