"""Parts of the rows in this process."""

from kinlearn.trees._questions import Answer

__all__ = ["LocalParts"]


class LocalParts:
    """Carries out plans and answers questions for parts of the rows.

    Other engines (Dask's) have the same methods. What they call *handles* are here the
    objects themselves.

    Attributes
    ----------
    shares : list of Share
        The parts, when they are prepared.
    """

    def __init__(self):
        self.shares = []
        self.places = []

    def map(self, function, handles, *args):
        """Handles of ``function(thing, *args)`` for the things of some handles."""
        return [function(thing, *args) for thing in handles]

    def collect(self, function, handles, *args):
        """The values of ``function(thing, *args)``, which are small."""
        return self.map(function, handles, *args)

    def keep(self, shares, n_rows):
        """Take the shares that trees are grown from, and how many rows they have."""
        self.shares = shares

    def begin(self, n_trees):
        """Bring all rows to the roots of so many trees."""
        self.places = [share.begin(n_trees) for share in self.shares]

    def move(self, plan):
        """Carry out the splits of a level."""
        for i, share in enumerate(self.shares):
            self.places[i] = share.move(self.places[i], plan)

    def ask(self, question):
        """The answer of all rows."""
        return Answer.merge(
            [
                share.answer(places, question)
                for share, places in zip(self.shares, self.places, strict=True)
            ]
        )
